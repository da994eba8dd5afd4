// `low` is what precision/low/low_tile.h says: every square and every sum rounded to the tensor's own
// type, in one order that no engine, thread or cut between tiles changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <tensorstat/meter.hpp>
#include <tensorstat/partial.hpp>
#include <vector>

#include "tests/support/held_to_oracle.hpp"

namespace tensorstat {
namespace low_test {

using View = std::span<const std::byte>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The same, a step at a time, each step exact and then rounded.
class Model {
 public:
  Model(Dtype dtype, View bytes) : own_(oracle::format_of(dtype)), facts_(oracle::facts(dtype, bytes)) {
    const std::size_t tile_bytes = 1024 * size_bytes(dtype);
    for (std::size_t offset = 0; offset < bytes.size(); offset += tile_bytes) {
      tile(dtype, bytes.subspan(offset, std::min(tile_bytes, bytes.size() - offset)));
    }
  }

  // All categories; what comes of sums as `low` has it.
  std::array<Value, kCategoryCount> answers() const {
    auto values = oracle::answers(facts_, own_);
    Value& avg = values[static_cast<std::size_t>(Category::kAvg)];
    Value& l2norm = values[static_cast<std::size_t>(Category::kL2norm)];
    // No sum: as in `high`.
    for (const Category category : {Category::kSparsity, Category::kDynamicRange}) {
      values[static_cast<std::size_t>(category)] = oracle::answers(facts_)[static_cast<std::size_t>(category)];
    }
    const std::uint64_t finite_count = facts_.count - facts_.nans - facts_.positive_infs - facts_.negative_infs;
    if (finite_count != 0) values[static_cast<std::size_t>(Category::kFiniteAvg)] = mean(finite_count);
    values[static_cast<std::size_t>(Category::kFiniteL2norm)] = norm();
    // Half of two rounded sums, on the right side of 0.
    const mpq_class positives = (sizes_ + sum_) * 512, negatives = (sum_ - sizes_) * 512;
    if (facts_.nans + facts_.positive_infs == 0) {
      values[static_cast<std::size_t>(Category::kSumOfPositives)] =
          positives < 0 ? 0 : oracle::nearest(positives, own_);
    }
    if (facts_.nans + facts_.negative_infs == 0) {
      values[static_cast<std::size_t>(Category::kSumOfNegatives)] =
          negatives > 0 ? 0 : oracle::nearest(negatives, own_);
    }
    if (facts_.nans + facts_.positive_infs + facts_.negative_infs != 0 || facts_.count == 0) return values;
    avg = mean(facts_.count);
    l2norm = norm();
    const mpz_class n = facts_.count;
    const mpq_class total = sum_ * 1024, variance = (n * squares_ - total * total) / (n * n);
    const mpq_class clamped = variance < 0 ? mpq_class(0) : variance;
    const auto finite = [&](Category category, double value) {
      values[static_cast<std::size_t>(category)] = overflows_ ? kInfinity : value;
    };
    finite(Category::kVar, oracle::nearest(clamped, own_));
    finite(Category::kStd, oracle::nearest_root(clamped, own_));
    finite(Category::kRms, oracle::nearest_root(squares_ / n, own_));
    values[static_cast<std::size_t>(Category::kL1norm)] = oracle::nearest(sizes_ * 1024, own_);
    return values;
  }

 private:
  // For so many finite elements.
  double mean(std::uint64_t count) const {
    const double rounded = oracle::nearest(sum_ * 1024 / mpz_class(count), own_);
    return std::clamp(rounded, std::get<double>(facts_.finite_least), std::get<double>(facts_.finite_most));
  }
  double norm() const {
    const double squares = overflows_ ? kInfinity : oracle::nearest(squares_, own_);
    return squares == kInfinity ? kInfinity : oracle::nearest_root(mpq_class(squares), own_);
  }

  void tile(Dtype dtype, View bytes) {
    // float16's sum, held at 2^-10 of its size, has float32's range.
    const oracle::Ieee of_sum = dtype == Dtype::kFloat16 ? oracle::Ieee{8, 10} : own_;
    std::array<double, 16> sum{}, square{}, sizes{};
    const auto added = [](double a, double b, oracle::Ieee format) {
      return a == kInfinity || b == kInfinity ? kInfinity : oracle::nearest(mpq_class(a) + mpq_class(b), format);
    };
    const std::size_t size = size_bytes(dtype);
    for (std::size_t i = 0; i * size < bytes.size(); ++i) {
      const oracle::Facts element = oracle::facts(dtype, bytes.subspan(i * size, size));
      if (element.nans + element.positive_infs + element.negative_infs != 0) continue;
      sum[i % 16] = added(sum[i % 16], oracle::nearest(element.sum / 1024, of_sum), of_sum);
      sizes[i % 16] = added(sizes[i % 16], oracle::nearest(element.sizes / 1024, of_sum), of_sum);
      square[i % 16] = added(square[i % 16], oracle::nearest(element.squares, own_), own_);
    }
    for (std::size_t half = 8; half != 0; half /= 2) {
      for (std::size_t k = 0; k < half; ++k) {
        sum[k] = added(sum[k], sum[k + half], of_sum);
        sizes[k] = added(sizes[k], sizes[k + half], of_sum);
        square[k] = added(square[k], square[k + half], own_);
      }
    }
    sum_ += mpq_class(sum[0]);
    sizes_ += mpq_class(sizes[0]);
    if (square[0] == kInfinity) {
      overflows_ = true;
    } else {
      squares_ += mpq_class(square[0]);
    }
  }

  const oracle::Ieee own_;
  const oracle::Facts facts_;
  mpq_class sum_, squares_, sizes_;
  bool overflows_ = false;
};

class Low : public testing::TestWithParam<Dtype> {
 protected:
  void SetUp() override { expect_forced_isa_runs(); }

  Partial folded(Engine& engine, View bytes) {
    Partial partial(GetParam(), Precision::kLow, kEverything);
    const Job job{
        {.dtype = GetParam(), .element_count = bytes.size() / size_bytes(GetParam()), .address = bytes.data()},
        &partial};
    const Status status = engine.fold({&job, 1});
    EXPECT_TRUE(status) << status.error().message;
    return partial;
  }

  samples::Random random_{samples::seed() + static_cast<std::uint64_t>(GetParam())};
};
INSTANTIATE_TEST_SUITE_P(Dtype, Low,
                         testing::Values(Dtype::kFloat16, Dtype::kBfloat16, Dtype::kFloat32, Dtype::kFloat64),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST_P(Low, IsItsDefinitionStepByStep) {
  for (int round = 0; round < (samples::full() ? 20 : 1); ++round) {
    for (const samples::Distribution& distribution : samples::of(GetParam())) {
      for (const std::size_t count : {0, 1, 2, 3, 15, 16, 17, 100, 1023, 1025, 2500}) {
        const auto bytes = distribution.make(GetParam(), count, random_);
        const auto truth = Model(GetParam(), bytes).answers();
        for (const EngineUnderTest& under_test : engines_of(GetParam())) {
          const Tensor tensor{.dtype = GetParam(), .element_count = count, .address = bytes.data()};
          if (under_test.name == "opencl" && !under_test.engine->refusal(tensor, Precision::kLow).empty()) continue;
          const Partial partial = folded(*under_test.engine, bytes);
          for (const Category category : every_category()) {
            const Value &expected = truth[static_cast<std::size_t>(category)], got = partial.finish(category);
            ASSERT_TRUE(oracle::same(expected, got))
                << under_test.name << ", " << distribution.name << ", " << count << " elements, seed "
                << samples::seed() << ": " << name(category) << "\n  must be " << oracle::shown(expected)
                << "\n  is      " << oracle::shown(got);
          }
        }
      }
    }
  }
}

TEST_P(Low, HasTheSameBytesOverThreadsAndCutsBetweenTiles) {
  const std::size_t tile_bytes = 1024 * size_bytes(GetParam());
  for (const samples::Distribution& distribution : samples::of(GetParam())) {
    const auto bytes = distribution.make(GetParam(), 400'000 + random_() % 3000, random_);
    const auto whole = folded(*make_host_engine({.threads = 1}), bytes).serialize();
    ASSERT_EQ(whole, folded(*make_host_engine({.threads = 7}), bytes).serialize()) << distribution.name;
    std::vector<Partial> pieces;
    for (View rest = bytes; !rest.empty();) {
      const std::size_t taken = std::min(rest.size(), (1 + random_() % 200) * tile_bytes);
      pieces.push_back(folded(*every_engine().front().engine, rest.first(taken)));
      ASSERT_TRUE(pieces.back().move_to((bytes.size() - rest.size()) / size_bytes(GetParam())));
      rest = rest.subspan(taken);
    }
    std::ranges::shuffle(pieces, random_);
    for (; pieces.size() > 1; pieces.pop_back()) ASSERT_TRUE(pieces.front().merge(pieces.back()));
    ASSERT_EQ(whole, pieces.front().serialize()) << distribution.name << ", seed " << samples::seed();
  }
}

// MindSpore's own example: three times 40000 in float16.
TEST(LowFloat16, AveragesWithinTheRangeAndOverflowsInSquares) {
  const std::vector<std::uint16_t> data(3, 0x78e2);  // 40000
  const Tensor tensor{.dtype = Dtype::kFloat16, .element_count = data.size(), .address = data.data()};
  const auto measured = Meter().measure({&tensor, 1}, {{Category::kAvg, Category::kL2norm}, Precision::kLow});
  ASSERT_TRUE(measured) << measured.error().message;
  EXPECT_EQ(Value(40000.0), (*measured)[0].statistics.values[0]);
  EXPECT_EQ(Value(kInfinity), (*measured)[0].statistics.values[1]);
}

// bool, integers and the 8-bit floats, which have no arithmetic of their own, have exact sums in both modes.
TEST(LowOfIntegersAndFloat8, IsHigh) {
  samples::Random random(samples::seed());
  for (const Dtype dtype : samples::all_dtypes()) {
    if (is_float(dtype) && size_bytes(dtype) != 1) continue;
    for (const samples::Distribution& distribution : samples::of(dtype)) {
      const auto bytes = distribution.make(dtype, 5000, random);
      const Tensor tensor{.dtype = dtype, .element_count = 5000, .address = bytes.data()};
      Meter meter;
      const auto high = meter.measure({&tensor, 1}, {all_categories(), Precision::kHigh});
      const auto low = meter.measure({&tensor, 1}, {all_categories(), Precision::kLow});
      ASSERT_TRUE(high && low);
      for (const Category category : all_categories()) {
        EXPECT_TRUE(oracle::same(*(*high)[0].statistics.find(category), *(*low)[0].statistics.find(category)))
            << name(dtype) << ", " << distribution.name << ", " << name(category);
      }
    }
  }
}

}  // namespace low_test
}  // namespace tensorstat
