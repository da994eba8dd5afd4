// Whatever floating-point environment the caller's thread is in (flush to zero, another rounding
// mode, traps), the numbers are the same bits, and the thread gets its environment back.
#include <fenv.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <tensorstat/meter.hpp>
#include <vector>

#include "tests/support/engines.hpp"
#include "tests/support/float_control.hpp"
#include "tests/support/oracle.hpp"
#include "tests/support/samples.hpp"

namespace tensorstat {
namespace float_environment_test {

struct Environment {
  std::string name;
  std::function<void()> enter;
};

std::vector<Environment> environments() {
  return {
      {"upward", [] { fesetround(FE_UPWARD); }},
      {"downward", [] { fesetround(FE_DOWNWARD); }},
      {"toward zero", [] { fesetround(FE_TOWARDZERO); }},
      {"traps", [] { feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW); }},  // of few arm64 processors
      {"flush to zero", test::flush_to_zero},
      {"flush to zero, downward",
       [] {
         fesetround(FE_DOWNWARD);
         test::flush_to_zero();
       }},
  };
}

struct Sample {
  std::string what;
  Dtype dtype;
  std::vector<std::byte> bytes;
};

// Every dtype and distribution, subnormals among them, short and long enough for several threads.
std::vector<Sample> samples_on(On on) {
  samples::Random random(samples::seed());
  std::vector<Sample> all;
  for (const Dtype dtype : on == On::kDevice ? samples::dtypes_on_a_device() : samples::all_dtypes()) {
    for (const samples::Distribution& distribution : samples::of(dtype)) {
      for (const std::size_t count : {3, 1025, 70'000}) {
        all.push_back({std::string(name(dtype)) + ", " + std::string(distribution.name) + ", " + std::to_string(count),
                       dtype, distribution.make(dtype, count, random)});
      }
    }
  }
  return all;
}

class FloatEnvironment : public testing::TestWithParam<On> {
 protected:
  void SetUp() override {
    expect_forced_isa_runs();
    for (const Sample& each : samples_) {
      tensors_.push_back({.dtype = each.dtype,
                          .element_count = each.bytes.size() / size_bytes(each.dtype),
                          .address = each.bytes.data()});
    }
  }

  // Measures everything inside an environment, on a Meter that is made there too: its threads, and
  // a device's, inherit what the thread that starts them has.
  std::optional<Measurements> measured_in(const Environment& environment, Precision precision) const {
    fenv_t before;
    fegetenv(&before);
    environment.enter();
    const std::uint64_t entered = test::float_control();
    Meter meter({.threads = 3});
    auto measured = meter.measure(tensors_, {all_categories(), precision, GetParam()});
    const std::uint64_t left = test::float_control();
    fesetenv(&before);
    EXPECT_EQ(entered, left) << environment.name << ": the caller's environment has changed";
    if (measured) return *std::move(measured);
    ADD_FAILURE() << environment.name << ": " << measured.error().message;
    return std::nullopt;
  }

  const std::vector<Sample> samples_ = samples_on(GetParam());
  std::vector<Tensor> tensors_;
};
INSTANTIATE_TEST_SUITE_P(On, FloatEnvironment, testing::ValuesIn([] {
                           return expects_device() ? std::vector{On::kHost, On::kDevice} : std::vector{On::kHost};
                         }()),
                         [](const auto& info) { return info.param == On::kHost ? "host" : "device"; });

// The odd environments come first: what is started once is started in one of them.
TEST_P(FloatEnvironment, ChangesNoBitAndIsLeftAsItWas) {
  for (const Precision precision : {Precision::kHigh, Precision::kLow}) {
    if (precision == Precision::kLow && GetParam() == On::kDevice) continue;
    std::vector<std::pair<std::string, Measurements>> results;
    for (const Environment& environment : environments()) {
      auto measured = measured_in(environment, precision);
      ASSERT_TRUE(measured);
      results.emplace_back(environment.name, *std::move(measured));
    }
    const auto truth = measured_in({"default", [] {}}, precision);
    ASSERT_TRUE(truth);
    for (const auto& [environment, measured] : results) {
      for (std::size_t i = 0; i < measured.size(); ++i) {
        for (const Category category : all_categories()) {
          const Value &expected = *(*truth)[i].statistics.find(category), &got = *measured[i].statistics.find(category);
          ASSERT_TRUE(oracle::same(expected, got))
              << environment << ", " << name(precision) << ", " << samples_[i].what << ", seed " << samples::seed()
              << ": " << name(category) << "\n  must be " << oracle::shown(expected) << "\n  is      "
              << oracle::shown(got);
        }
      }
    }
  }
}

// The same by hand, where a person sees that subnormals are not zero.
TEST_P(FloatEnvironment, KeepsSubnormals) {
  const std::vector<float> data(1000, 0x1p-149f);
  const Tensor tensor{.dtype = Dtype::kFloat32, .element_count = data.size(), .address = data.data()};
  for (const Environment& environment : environments()) {
    fenv_t before;
    fegetenv(&before);
    environment.enter();
    Meter meter;
    const auto measured = meter.measure({&tensor, 1}, {{Category::kAvg, Category::kZeroCount}, {}, GetParam()});
    fesetenv(&before);
    ASSERT_TRUE(measured) << measured.error().message;
    EXPECT_EQ(Value(0x1p-149), (*measured)[0].statistics.values[0]) << environment.name;
    EXPECT_EQ(Value(std::uint64_t{0}), (*measured)[0].statistics.values[1]) << environment.name;
  }
}

}  // namespace float_environment_test
}  // namespace tensorstat
