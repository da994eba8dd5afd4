// Comparing two tensors on a device gives the host's partial to the byte, and the oracle's values: in every shape of
// the kernels, wherever the tensors are, in batches and in parts. Registered once for each shape, and for a device
// without fp64, which must refuse.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "kernels-cl/driver/cl.hpp"
#include "kernels-cl/driver/device.hpp"
#include "tests/support/pair_samples.hpp"

namespace tensorstat {
namespace pair_shapes_test {

using Bytes = std::vector<std::byte>;

bool has_fp64() {
  const char* forced = std::getenv("TENSORSTAT_CL_FP64");
  return forced == nullptr || std::string_view(forced) != "0";
}

Tensor tensor_of(Dtype dtype, const Bytes& bytes) {
  return {.dtype = dtype, .element_count = bytes.size() / size_bytes(dtype), .address = bytes.data()};
}

class PairShapes : public testing::TestWithParam<Dtype> {
 protected:
  void SetUp() override {
    if (!has_fp64()) GTEST_SKIP() << "a device without fp64 compares nothing";
    const bool is_forced = std::getenv("TENSORSTAT_CL_SHAPE") != nullptr;
    if (is_forced ? !samples::is_built_on_a_device(GetParam())
                  : !samples::full() && !samples::stands_for_its_family(GetParam())) {
      GTEST_SKIP() << "left to the full tests";
    }
  }

  // The dtype itself and another one; in the full tests every dtype. Each pair of dtypes needs a kernel.
  std::vector<Dtype> partners() const {
    const auto all = samples::plain_dtypes();
    if (samples::full()) return all;
    const auto place = static_cast<std::size_t>(GetParam());
    return {GetParam(), all[(place + 1 + samples::seed() % (all.size() - 1)) % all.size()]};
  }

  samples::Random random_{samples::seed() + static_cast<std::uint64_t>(GetParam())};
  Meter meter_{{.threads = 1}};
};
INSTANTIATE_TEST_SUITE_P(Dtype, PairShapes, testing::ValuesIn(samples::plain_dtypes()),
                         [](const auto& info) { return std::string(name(info.param)); });

// Batches of pairs of many lengths, compared with the oracle and the host.
TEST_P(PairShapes, AgreeWithTheOracle) {
  std::size_t total = 0;
  for (const Dtype other : partners()) {
    for (int round = 0; round < (samples::full() ? 60 : 3); ++round) {
      std::vector<Bytes> of_a, of_b;
      std::vector<TensorPair> pairs;
      for (const std::size_t count :
           {std::size_t{0}, std::size_t{1}, std::size_t{3}, std::size_t{257}, random_() % 3000}) {
        of_a.push_back(samples::any_of(GetParam(), count, random_));
        of_b.push_back(other == GetParam() && random_() % 3 != 0
                           ? samples::beside(other, of_a.back(), samples::kPartners[random_() % 5], random_)
                           : samples::any_of(other, count, random_));
      }
      for (std::size_t i = 0; i < of_a.size(); ++i)
        pairs.push_back({tensor_of(GetParam(), of_a[i]), tensor_of(other, of_b[i])});
      PairRequest request{samples::any_tolerance(random_), random_() % 3 * 1'000'000'007, On::kDevice};
      std::vector<PairPlacement> placements;
      const auto result = meter_.compare(pairs, request, &placements);
      ASSERT_TRUE(result) << result.error().message;
      request.on = On::kHost;
      const auto expected = meter_.compare(pairs, request);
      ASSERT_TRUE(expected) << expected.error().message;
      for (std::size_t i = 0; i < pairs.size(); ++i) {
        const std::string what = std::string(name(GetParam())) + " and " + std::string(name(other)) + ", " +
                                 std::to_string(pairs[i].a.element_count) + " elements, seed " +
                                 std::to_string(samples::seed());
        EXPECT_EQ(placements[i].engine, "opencl") << what;
        ASSERT_EQ((*result)[i].serialize(), (*expected)[i].serialize()) << what;
        const auto truth =
            oracle::pair_answers(GetParam(), of_a[i], other, of_b[i], request.tolerance, request.first_index);
        ASSERT_TRUE(samples::holds(truth, (*result)[i])) << what;
        ++total;
      }
    }
  }
  std::printf("%zu pairs of %s, seed %llu\n", total, std::string(name(GetParam())).c_str(),
              static_cast<unsigned long long>(samples::seed()));
}

// Sums with terms that cancel to the last bit, or with other terms 10^60 times as large.
TEST_P(PairShapes, WhereTermsCancel) {
  if (GetParam() != Dtype::kFloat32 && GetParam() != Dtype::kFloat64) return;
  const auto bytes = [&](const std::vector<double>& values) {
    if (GetParam() == Dtype::kFloat64)
      return Bytes(std::as_bytes(std::span(values)).begin(), std::as_bytes(std::span(values)).end());
    const std::vector<float> narrow(values.begin(), values.end());
    return Bytes(std::as_bytes(std::span(narrow)).begin(), std::as_bytes(std::span(narrow)).end());
  };
  for (int round = 0; round < (samples::full() ? 500 : 5); ++round) {
    std::vector<double> a, b;
    for (int i = 0; i < 1500; ++i) {
      const double sign = random_() % 2 == 0 ? 1 : -1;
      a.push_back(random_() % 3 == 0 ? 1e30 : sign * 1e-30);
      b.push_back(random_() % 3 == 0 ? sign * 1e30 : 1e-30);
    }
    const Bytes of_a = bytes(a), of_b = bytes(b);
    const TensorPair pair{tensor_of(GetParam(), of_a), tensor_of(GetParam(), of_b)};
    const PairTolerance tolerance = samples::any_tolerance(random_);
    const auto result = meter_.compare({&pair, 1}, {tolerance, 0, On::kDevice});
    ASSERT_TRUE(result) << result.error().message;
    ASSERT_TRUE(samples::holds(oracle::pair_answers(GetParam(), of_a, GetParam(), of_b, tolerance), result->front()))
        << "seed " << samples::seed();
  }
}

// Several slices. Cut in two parts and merged in reverse order, the bytes are the same.
TEST_P(PairShapes, OverManySlices) {
  const std::size_t count = 400'011, element = size_bytes(GetParam());
  const Bytes a = samples::of(GetParam())[0].make(GetParam(), count, random_);
  const Bytes b = samples::beside(GetParam(), a, samples::kPartners[3 + random_() % 2], random_);
  const TensorPair whole{tensor_of(GetParam(), a), tensor_of(GetParam(), b)};
  const PairRequest request{samples::any_tolerance(random_), 7, On::kDevice};
  const auto result = meter_.compare({&whole, 1}, request);
  ASSERT_TRUE(result) << result.error().message;
  const auto expected = meter_.compare({&whole, 1}, {request.tolerance, 7, On::kHost});
  EXPECT_EQ(result->front().serialize(), expected->front().serialize()) << "seed " << samples::seed();
  const std::uint64_t cut = random_() % count;
  TensorPair later = whole, earlier = whole;
  for (Tensor TensorPair::*tensor : {&TensorPair::a, &TensorPair::b}) {
    (earlier.*tensor).element_count = cut;
    (later.*tensor).element_count = count - cut;
    (later.*tensor).offset_bytes = cut * element;
  }
  auto merged = meter_.compare({&later, 1}, {request.tolerance, 7 + cut, On::kDevice});
  const auto first = meter_.compare({&earlier, 1}, request);
  ASSERT_TRUE(merged && first);
  ASSERT_TRUE(merged->front().merge(first->front()));
  EXPECT_EQ(merged->front().serialize(), expected->front().serialize())
      << "cut at " << cut << ", seed " << samples::seed();
}

// One or both tensors in the caller's memory, at an offset.
class PairsInDeviceMemory : public testing::Test {
 protected:
  PairsInDeviceMemory() {
    auto device = cl_engine::choose_device({});
    if (!device) throw std::runtime_error(device.error().message);
    device_ = device->device;
    for (Bytes* bytes : {&a_, &b_}) *bytes = samples::of(Dtype::kFloat32)[0].make(Dtype::kFloat32, kElements, random_);
    b_ = samples::beside(Dtype::kFloat32, a_, samples::kPartners[3], random_);
    context_ = cl::Context(device_);
    here_ = {tensor_of(Dtype::kFloat32, a_), tensor_of(Dtype::kFloat32, b_)};
    expected_ = meter_.compare({&here_, 1}, {kTolerance, 0, On::kHost})->front().serialize();
  }

  Tensor in_buffer(const cl::Context& context, const Bytes& bytes) {
    Bytes padded(12 + bytes.size());
    std::ranges::copy(bytes, padded.begin() + 12);
    buffers_.emplace_back(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, padded.size(), padded.data());
    Tensor tensor = tensor_of(Dtype::kFloat32, bytes);
    tensor.address = buffers_.back()();
    tensor.where = Where::kClBuffer;
    tensor.offset_bytes = 12;
    return tensor;
  }

  // Compares under `auto` and returns the reason.
  PairPlacement hold(const TensorPair& pair) {
    std::vector<PairPlacement> placements;
    const auto result = meter_.compare({&pair, 1}, {kTolerance}, &placements);
    EXPECT_TRUE(result) << result.error().message;
    if (!result) return {};
    EXPECT_EQ(result->front().serialize(), expected_);
    return placements.front();
  }

  static constexpr std::size_t kElements = 70'003;
  static constexpr PairTolerance kTolerance{1e-3, 1e-6};
  samples::Random random_{samples::seed()};
  Bytes a_, b_;
  cl::Device device_;
  cl::Context context_;
  std::vector<cl::Buffer> buffers_;
  Meter meter_;
  TensorPair here_;
  std::vector<std::byte> expected_;
};

TEST_F(PairsInDeviceMemory, AreComparedThere) {
  const Tensor a = in_buffer(context_, a_), b = in_buffer(context_, b_);
  for (const TensorPair& pair : {TensorPair{a, b}, TensorPair{a, here_.b}, TensorPair{here_.a, b}}) {
    const PairPlacement placed = hold(pair);
    EXPECT_EQ(placed.engine, has_fp64() ? "opencl" : "host") << placed.reason;
    EXPECT_EQ(placed.reason, has_fp64()
                                 ? "the tensor is in its memory"
                                 : "read back from the device: a pair's distances are held in float64, which the "
                                   "device does not have");
  }
  const auto refused = meter_.compare({&here_, 1}, {kTolerance, 0, On::kDevice});
  EXPECT_EQ(bool(refused), has_fp64());
}

// One kernel cannot read tensors of two contexts.
TEST_F(PairsInDeviceMemory, OfTwoContextsAreReadBack) {
  const TensorPair pair{in_buffer(context_, a_), in_buffer(cl::Context(device_), b_)};
  const PairPlacement placed = hold(pair);
  EXPECT_EQ(placed.engine, "host");
  EXPECT_EQ(placed.reason, "read back from the device: its two tensors are in two OpenCL contexts");
  EXPECT_FALSE(meter_.compare({&pair, 1}, {kTolerance, 0, On::kDevice}));
}

TEST_F(PairsInDeviceMemory, MayBeStridedOnTheOtherSide) {
  const Strides strides{{kElements}, {8}};
  Bytes apart(8 * kElements);
  for (std::size_t i = 0; i < kElements; ++i) std::memcpy(&apart[8 * i], &b_[4 * i], 4);
  Tensor b = tensor_of(Dtype::kFloat32, b_);
  b.address = apart.data();
  b.strides = &strides;
  EXPECT_EQ(hold({in_buffer(context_, a_), b}).engine, "host");
}

TEST_F(PairsInDeviceMemory, BeyondTheirBufferAreRefused) {
  TensorPair pair{in_buffer(context_, a_), in_buffer(context_, b_)};
  pair.b.offset_bytes = 16;
  const auto result = meter_.compare({&pair, 1}, {kTolerance});
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("reaches beyond its cl_mem"), std::string::npos) << result.error().message;
}

}  // namespace pair_shapes_test
}  // namespace tensorstat
