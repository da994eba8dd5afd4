// The public API of Meter: batches, streams, errors, logs and budgets, with every `on` of a request.
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <string>
#include <tensorstat/meter.hpp>
#include <thread>
#include <vector>

#include "kernels-cl/driver/device.hpp"
#include "tests/support/engines.hpp"
#include "tests/support/oracle.hpp"
#include "tests/support/samples.hpp"

namespace tensorstat {
namespace meter_test {

using Bytes = std::vector<std::byte>;

bool shares_host_memory() {
  const auto device = cl_engine::choose_device({});
  return device && device->is_cpu && device->shares_host_memory;  // a GPU shares it only if it is asked to
}

Digest digest_of(std::span<const std::byte> bytes, const EVP_MD* algorithm) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  EXPECT_EQ(1, EVP_Digest(bytes.data(), bytes.size(), digest, &size, algorithm, nullptr));
  return Digest(std::as_bytes(std::span(digest).first(size)));
}

// Tensors of some dtypes, also empty ones, with their correct values.
struct Batch {
  explicit Batch(const std::vector<Dtype>& kinds) {
    const std::size_t longest = samples::full() ? 20'000 : 5000;
    samples::Random random(samples::seed());
    for (const Dtype dtype : kinds) {
      for (const samples::Distribution& distribution : samples::of(dtype)) {
        for (const std::size_t count : {std::size_t{0}, std::size_t{1 + random() % 300}, longest}) {
          bytes.push_back(distribution.make(dtype, count, random));
          what.push_back(std::string(name(dtype)) + ", " + std::string(distribution.name) + ", " +
                         std::to_string(count));
          dtypes.push_back(dtype);
        }
      }
    }
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      tensors.push_back(
          {.dtype = dtypes[i], .element_count = bytes[i].size() / size_bytes(dtypes[i]), .address = bytes[i].data()});
      truths.push_back(oracle::answers(oracle::facts(dtypes[i], bytes[i])));
      truths.back()[static_cast<std::size_t>(Category::kMd5)] = digest_of(bytes[i], EVP_md5());
      // Up to 20,480 elements; sha1_two_level_test tests longer ones.
      truths.back()[static_cast<std::size_t>(Category::kHash)] = digest_of(bytes[i], EVP_sha1());
    }
  }

  void hold(const Result<Measurements>& measured, const Categories& categories) const {
    ASSERT_TRUE(measured) << measured.error().message;
    ASSERT_EQ(tensors.size(), measured->size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const Statistics statistics((*measured)[i].statistics);
      ASSERT_EQ(categories, statistics.categories) << "in the order that was asked";
      ASSERT_EQ(categories.size(), statistics.values.size());
      for (std::size_t k = 0; k < categories.size(); ++k) {
        const Value& truth = truths[i][static_cast<std::size_t>(categories[k])];
        ASSERT_TRUE(oracle::same(truth, statistics.values[k]))
            << what[i] << ", seed " << samples::seed() << ": " << name(categories[k]) << "\n  must be "
            << oracle::shown(truth) << "\n  is      " << oracle::shown(statistics.values[k]);
      }
    }
  }

  std::vector<Bytes> bytes;
  std::vector<std::string> what;
  std::vector<Dtype> dtypes;
  std::vector<Tensor> tensors;
  std::vector<std::array<Value, kCategoryCount>> truths;
};

const Batch& batch() {
  static const Batch batch(samples::all_dtypes());
  return batch;
}
const Batch& batch_on(On on) {
  static const Batch on_a_device(samples::dtypes_on_a_device());
  return on == On::kDevice ? on_a_device : batch();
}

// One dtype of each kind, for tests that compile many kernels.
const Batch& small_batch() {
  static const Batch batch({Dtype::kInt8, Dtype::kBfloat16, Dtype::kFloat64});
  return batch;
}

// The messages of a Meter, in order.
struct Heard {
  Log log() {
    return [this](Severity severity, std::string_view text) {
      const std::lock_guard lock(mutex);
      messages.emplace_back(severity, text);
    };
  }
  std::mutex mutex;
  std::vector<std::pair<Severity, std::string>> messages;
};

class MeterOn : public testing::TestWithParam<On> {};
INSTANTIATE_TEST_SUITE_P(
    Place, MeterOn, testing::ValuesIn([] {
      return expects_device() ? std::vector{On::kAuto, On::kHost, On::kDevice} : std::vector{On::kAuto, On::kHost};
    }()),
    [](const auto& info) { return info.param == On::kAuto   ? "auto"
                                  : info.param == On::kHost ? "host"
                                                            : "device"; });

TEST_P(MeterOn, MeasuresABatchOfMixedTensors) {
  Meter meter;
  const Categories all = all_categories();
  const Batch& batch = batch_on(GetParam());
  batch.hold(meter.measure(batch.tensors, {all, Precision::kHigh, GetParam()}), all);
}

TEST_P(MeterOn, GivesWhatWasAskedInTheOrderAsked) {
  Meter meter;
  for (const Categories& categories :
       {Categories{Category::kL2norm, Category::kNanCount, Category::kMax, Category::kAvg}, Categories{Category::kMd5},
        Categories{Category::kCount, Category::kMd5, Category::kAvg}, Categories{Category::kZeroCount}}) {
    // Each is a kernel a dtype. The first one's is IsNeverExceededAndChangesNoValue's, too.
    if (GetParam() == On::kDevice && !samples::full() && categories.front() == Category::kZeroCount) continue;
    small_batch().hold(meter.measure(small_batch().tensors, {categories, Precision::kHigh, GetParam()}), categories);
  }
}

TEST_P(MeterOn, SaysWhereEachCategoryWasComputed) {
  Meter meter;
  const auto measured = meter.measure(small_batch().tensors, {all_categories(), Precision::kHigh, GetParam()});
  ASSERT_TRUE(measured) << measured.error().message;
  for (const Measurement& each : *measured) {
    ASSERT_EQ(all_categories().size(), each.placement.size());
    for (std::size_t k = 0; k < each.placement.size(); ++k) {
      const Decision& decision = each.placement[k];
      EXPECT_EQ(all_categories()[k], decision.category);
      EXPECT_FALSE(decision.reason.empty());
      const bool on_host =
          GetParam() == On::kHost || decision.category == Category::kMd5 || decision.category == Category::kHash;
      if (GetParam() != On::kAuto) {
        EXPECT_EQ(on_host ? "host" : "opencl", decision.engine);
      }
      if (decision.engine == "host") continue;
      EXPECT_LE(each.device_bytes, meter.device_memory().peak_bytes);
    }
  }
}

TEST_P(MeterOn, NothingIsNoError) {
  Meter meter;
  const auto measured = meter.measure({}, {all_categories(), Precision::kHigh, GetParam()});
  ASSERT_TRUE(measured) << measured.error().message;
  EXPECT_TRUE(measured->empty());
  auto stream = meter.stream(Dtype::kFloat32, {{Category::kMax, Category::kL2norm, Category::kCount, Category::kMd5}});
  ASSERT_TRUE(stream);
  const auto empty = stream->finish();
  ASSERT_TRUE(empty) << empty.error().message;
  const std::vector<Value> expected = {Value{}, 0.0, std::uint64_t{0},
                                       *Digest::from("d41d8cd98f00b204e9800998ecf8427e")};
  EXPECT_EQ(expected, Statistics(empty->front().statistics).values);
}

TEST_P(MeterOn, ServesManyThreadsAtOnce) {
  Meter meter({.threads = 2});
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const Categories all = all_categories();
      small_batch().hold(meter.measure(small_batch().tensors, {all, Precision::kHigh, GetParam()}), all);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(MeterStream, RefusesHalfElementsAndKeepsWhatItHas) {
  Meter meter;
  auto stream = meter.stream(Dtype::kFloat32, {{Category::kCount, Category::kAvg, Category::kMd5}});
  ASSERT_TRUE(stream);
  const std::vector<float> piece = {1, 2, 6};
  const auto bytes = std::as_bytes(std::span(piece));
  ASSERT_TRUE(stream->append(bytes));
  const Status half = stream->append(bytes.first(6));
  ASSERT_FALSE(half);
  EXPECT_EQ(Code::kInvalid, half.error().code);
  EXPECT_NE(std::string::npos, half.error().message.find("float32")) << half.error().message;
  const auto measured = stream->finish();
  ASSERT_TRUE(measured);
  EXPECT_EQ((std::vector<Value>{std::uint64_t{3}, 3.0, digest_of(bytes, EVP_md5())}),
            Statistics(measured->front().statistics).values);
}

// If there is no device, this is reported once. The host computes, unless the request insists on the device.
TEST(MeterWithoutDevice, FallsBackOrSaysWhy) {
  Heard heard;
  Meter meter({.platform = 99, .device = 99, .log = heard.log()});
  const std::vector<float> data(1 << 20, 1.5f);  // enough for the device to be chosen
  const Tensor tensor{.dtype = Dtype::kFloat32, .element_count = data.size(), .address = data.data()};
  for (int i = 0; i < 3; ++i) {
    const auto measured = meter.measure({&tensor, 1}, {{Category::kAvg}});
    ASSERT_TRUE(measured) << measured.error().message;
    EXPECT_EQ(Value(1.5), (*measured)[0].statistics.values[0]);
    EXPECT_EQ("host", (*measured)[0].placement[0].engine);
    EXPECT_EQ(0u, (*measured)[0].device_bytes);
  }
  ASSERT_EQ(1u, heard.messages.size());
  EXPECT_EQ(Severity::kInfo, heard.messages[0].first);
  EXPECT_NE(std::string::npos, heard.messages[0].second.find("99")) << heard.messages[0].second;
  const auto insisted = meter.measure({&tensor, 1}, {.categories = {Category::kAvg}, .on = On::kDevice});
  ASSERT_FALSE(insisted);
  EXPECT_EQ(Code::kDevice, insisted.error().code);
  EXPECT_NE(std::string::npos, insisted.error().message.find("99")) << insisted.error().message;
  auto stream = meter.stream(Dtype::kFloat32, {.categories = {Category::kAvg}, .on = On::kDevice});
  ASSERT_TRUE(stream);
  EXPECT_FALSE(stream->append(std::as_bytes(std::span(data))));
}

TEST(MeterWithoutDevice, NeverLooksForOneWhereTheHostWasAskedFor) {
  Heard heard;
  Meter meter({.platform = 99, .device = 99, .log = heard.log()});
  const Categories all = all_categories();
  batch().hold(meter.measure(batch().tensors, {all, Precision::kHigh, On::kHost}), all);
  EXPECT_TRUE(heard.messages.empty());
}

// With budgets from zero to ample, the device never holds more bytes, and the values are the same.
TEST(MeterBudget, IsNeverExceededAndChangesNoValue) {
  if (!expects_device()) GTEST_SKIP() << "this run is told that there is no device";
  const Categories categories = {Category::kMax, Category::kAvg, Category::kL2norm, Category::kNanCount};
  for (const std::uint64_t budget : {0ull, 1ull, 100ull, 250ull, 1000ull, 2500ull, 4000ull, 10'000ull, 33'333ull,
                                     100'000ull, 1ull << 20, 1ull << 30}) {
    Meter meter({.budget_bytes = budget});
    for (int round = 0; round < 2; ++round) {  // the second round reuses the memory of the first
      small_batch().hold(meter.measure(small_batch().tensors, {categories}), categories);
      EXPECT_LE(meter.device_memory().peak_bytes, budget);
    }
    const auto insisted = meter.measure(small_batch().tensors, {.categories = categories, .on = On::kDevice});
    EXPECT_LE(meter.device_memory().peak_bytes, budget);
    if (insisted) {
      small_batch().hold(insisted, categories);
    } else {
      EXPECT_EQ(Code::kOverBudget, insisted.error().code) << insisted.error().message;
      // Room for one slice of the widest partial; on a GPU, for the probe of a kernel.
      EXPECT_LT(budget, shares_host_memory() ? 10'000u : 33'333u) << insisted.error().message;
    }
  }
}

TEST(MeterOnDevice, RefusesATensorInsideAnElementsAlignmentUnlessItIsCopied) {
  if (!expects_device()) GTEST_SKIP() << "this run is told that there is no device";
  std::vector<std::byte> storage(4 * 1000 + 64);
  const Tensor tensor{.dtype = Dtype::kFloat32, .element_count = 1000, .address = storage.data() + 1};
  Meter meter;
  const auto insisted = meter.measure({&tensor, 1}, {.categories = {Category::kZeroCount}, .on = On::kDevice});
  if (shares_host_memory()) {  // else a copy is measured, and that is aligned
    ASSERT_FALSE(insisted);
    EXPECT_EQ(Code::kDevice, insisted.error().code);
  }
  const auto measured = meter.measure({&tensor, 1}, {{Category::kZeroCount}});
  ASSERT_TRUE(measured) << measured.error().message;
  EXPECT_EQ(Value(std::uint64_t{1000}), (*measured)[0].statistics.values[0]);
}

}  // namespace meter_test
}  // namespace tensorstat
