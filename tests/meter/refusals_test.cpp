// An invalid request is refused before anything is read. The message names the tensor and the reason.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <tensorstat/dlpack.hpp>
#include <tensorstat/opencl.hpp>
#include <vector>

#include "kernels-cl/driver/cl.hpp"
#include "kernels-cl/driver/device.hpp"
#include "tests/support/dl_tensor.hpp"
#include "tests/support/engines.hpp"

namespace tensorstat {
namespace refusals_test {

const std::vector<float> kData(6, 1.5f);
const Tensor kGood{.dtype = Dtype::kFloat32, .element_count = kData.size(), .address = kData.data()};
const Request kRequest{.categories = {Category::kMax, Category::kAvg}, .on = On::kHost};

template <typename Anything>
void expect_refused(const Anything& result, Code code, std::string_view words) {
  ASSERT_FALSE(result) << words;
  EXPECT_EQ(result.error().code, code) << result.error().message;
  EXPECT_NE(result.error().message.find(words), std::string::npos)
      << result.error().message << "\n  should say: " << words;
}

// Through every function that takes tensors.
void expect_refused_everywhere(const Tensor& bad, Code code, const std::string& words) {
  Meter meter;
  const std::vector<Tensor> tensors{kGood, bad};
  expect_refused(meter.measure(tensors, kRequest), code, "tensor 1: " + words);
  expect_refused(meter.fold(tensors, kRequest), code, "tensor 1: " + words);
  std::vector<std::byte> room(4);
  expect_refused(meter.read(bad, 0, room), code, words);
}

TEST(Refusals, OfANullAddress) {
  Tensor bad = kGood;
  bad.address = nullptr;
  expect_refused_everywhere(bad, Code::kInvalid, "its address is null, and it has 6 elements");
  bad.element_count = 0;
  EXPECT_TRUE(Meter().measure({&bad, 1}, kRequest)) << "nothing is read of an empty tensor";
}

TEST(Refusals, OfStridesThatDoNotFit) {
  Tensor bad = kGood;
  const Strides other_rank{{2, 3}, {12}}, other_count{{2, 2}, {12, 4}}, beyond_all{{1ull << 62, 8}, {0, 0}},
      good{{2, 3}, {12, 4}};
  bad.strides = &other_rank;
  expect_refused_everywhere(bad, Code::kInvalid, "it has strides for 1 dimensions, and 2 dimensions");
  bad.strides = &other_count;
  expect_refused_everywhere(bad, Code::kInvalid, "the shape of its strides, (2,2), does not hold its 6 elements");
  bad.strides = &beyond_all;
  expect_refused_everywhere(bad, Code::kInvalid, "the shape of its strides, (4611686018427387904,8), does not hold");
  bad.strides = &good;
  bad.where = Where::kClBuffer;
  expect_refused_everywhere(bad, Code::kUnsupported, "it has strides");
  bad.where = Where::kHost;
  EXPECT_TRUE(Meter().measure({&bad, 1}, kRequest));
}

TEST(Refusals, OfStridesThatLeadBeyondMemory) {
  Tensor bad = kGood;
  constexpr std::int64_t kLeast = INT64_MIN, kMost = INT64_MAX;
  for (const std::vector<std::int64_t>& bytes : {std::vector{kLeast, std::int64_t{4}},
                                                 {kMost, 4},
                                                 {kMost / 2, kMost / 2},
                                                 {kLeast / 4, kLeast / 2},
                                                 {4, kLeast}}) {
    const Strides strides{{2, 3}, bytes};
    bad.strides = &strides;
    expect_refused_everywhere(bad, Code::kInvalid, "its strides of (2,3) lead to elements beyond all memory");
    const TensorPair pair{kGood, bad};
    expect_refused(Meter().compare({&pair, 1}, PairRequest{}), Code::kInvalid, "beyond all memory");
  }
  // the stride of an axis of length 1 is not used
  const Strides reversed{{2, 3}, {-12, -4}}, one_row{{1, 6}, {kLeast, 4}};
  Tensor good = kGood;
  good.address = kData.data() + 5;
  good.strides = &reversed;
  EXPECT_TRUE(Meter().measure({&good, 1}, kRequest));
  good.address = kData.data();
  good.strides = &one_row;
  EXPECT_TRUE(Meter().measure({&good, 1}, kRequest));
}

TEST(Refusals, OfAGpusMemoryWithoutItsDriver) {
  Meter meter;
  Tensor bad = kGood;
  for (const auto& [where, words] :
       {std::pair{Where::kCuda, "nothing in this process has loaded CUDA's driver, libcuda.so.1"},
        {Where::kRocm, "nothing in this process has loaded ROCm's runtime, libamdhip64.so"}}) {
    bad.where = where;
    expect_refused(meter.measure({&bad, 1}, kRequest), Code::kDevice, words);
    std::vector<std::byte> room(4);
    expect_refused(meter.read(bad, 0, room), Code::kDevice, words);
    const TensorPair pair{kGood, bad};
    expect_refused(meter.compare({&pair, 1}, PairRequest{}), Code::kDevice, words);
    Tensor empty = bad;
    empty.element_count = 0;
    EXPECT_TRUE(meter.measure({&empty, 1}, kRequest)) << "nothing is read of an empty tensor";
  }
  for (const char* library : {"libcuda.so.1", "libamdhip64.so.6"}) {
    EXPECT_EQ(::dlopen(library, RTLD_LAZY | RTLD_NOLOAD), nullptr) << library << " was loaded";
  }
}

TEST(Refusals, OfTypesOfDlpack) {
  std::int64_t shape[] = {2};
  const double data[2] = {};
  const test::DlTensor opaque{data, 1, 0, 1, 3, 64, 1, shape, nullptr, 0},
      wide{data, 1, 0, 1, 2, 128, 1, shape, nullptr, 0};
  Strides strides;
  expect_refused(tensor_from_dlpack(&opaque, strides), Code::kUnsupported,
                 "a DLPack tensor of type code 3 with 64 bits");
  expect_refused(tensor_from_dlpack(&wide, strides), Code::kUnsupported, "a DLPack tensor of float128 with 128 bits");
}

TEST(Refusals, OfMoreBytesThanThereAreAndOfUnknownDtypes) {
  Tensor bad = kGood;
  bad.element_count = 1ull << 62;
  expect_refused_everywhere(bad, Code::kInvalid, "4611686018427387904 elements of float32 exceed 2^63-1 bytes");
  bad.dtype = static_cast<Dtype>(200);
  expect_refused_everywhere(bad, Code::kInvalid, "its dtype is unknown");
  expect_refused(Meter().stream(static_cast<Dtype>(200), kRequest), Code::kInvalid, "its dtype is unknown");
}

TEST(Refusals, OfNoCategories) {
  Meter meter;
  expect_refused(meter.measure({&kGood, 1}, {}), Code::kInvalid, "no category");
  expect_refused(meter.fold({&kGood, 1}, {}), Code::kInvalid, "no category");
  expect_refused(meter.stream(Dtype::kFloat32, {}), Code::kInvalid, "no category");
}

TEST(Refusals, OfPartialsOfDigests) {
  Meter meter;
  const Request with_digests{.categories = {Category::kMax, Category::kMd5}, .on = On::kHost};
  expect_refused(meter.fold({&kGood, 1}, with_digests), Code::kUnsupported, "md5 is a digest, which cannot be merged");
  auto stream = meter.stream(Dtype::kFloat32, with_digests);
  ASSERT_TRUE(stream);
  ASSERT_TRUE(stream->append(std::as_bytes(std::span(kData))));
  expect_refused(stream->finish_partial(), Code::kUnsupported, "md5 is a digest");
  EXPECT_TRUE(stream->finish()) << "the values can still be had";
}

TEST(Refusals, OfBytesThatATensorDoesNotHave) {
  Meter meter;
  std::vector<std::byte> room(16);
  EXPECT_TRUE(meter.read(kGood, 8, room));
  for (const std::uint64_t first : {std::uint64_t{12}, std::uint64_t{24}, std::uint64_t{28}, ~std::uint64_t{3}}) {
    expect_refused(meter.read(kGood, first, room), Code::kInvalid,
                   "are no whole elements of a float32 tensor of 24 bytes");
  }
  expect_refused(meter.read(kGood, 2, room), Code::kInvalid, "no whole elements");
  expect_refused(meter.read(kGood, 0, std::span(room).first(7)), Code::kInvalid, "no whole elements");
}

TEST(Refusals, OfATensorBeyondItsClMem) {
  if (!expects_device()) GTEST_SKIP() << "this run is told that there is no device";
  auto device = cl_engine::choose_device({});
  ASSERT_TRUE(device) << device.error().message;
  const cl::Context context(device->device);
  const cl::CommandQueue queue(context, device->device);
  const cl::Buffer buffer(context, CL_MEM_READ_WRITE, 64);
  const float value = 1;
  ASSERT_EQ(queue.enqueueFillBuffer(buffer, value, 0, 64), CL_SUCCESS);
  Meter meter({.queue = queue()});
  auto device_meter = DeviceMeter::on(queue());
  ASSERT_TRUE(device_meter) << device_meter.error().message;
  Tensor tensor{.dtype = Dtype::kFloat32, .element_count = 16, .address = buffer(), .where = Where::kClBuffer};
  std::vector<std::byte> room(4);
  const auto expect = [&](std::string_view words) {
    for (const On on : {On::kAuto, On::kHost, On::kDevice}) {
      expect_refused(meter.measure({&tensor, 1}, {{Category::kMax}, Precision::kHigh, on}), Code::kInvalid, words);
    }
    expect_refused(meter.read(tensor, 0, room), Code::kInvalid, words);
    expect_refused(device_meter->submit({&tensor, 1}, {{Category::kMax}}), Code::kInvalid, words);
  };
  EXPECT_TRUE(meter.measure({&tensor, 1}, {{Category::kMax}}));
  EXPECT_TRUE(meter.read(tensor, 0, room));
  tensor.element_count = 17;
  expect("a tensor of 68 bytes at byte 0 reaches beyond its cl_mem, which has 64");
  tensor.element_count = 16;
  tensor.offset_bytes = 4;
  expect("a tensor of 64 bytes at byte 4 reaches beyond its cl_mem");
  tensor.offset_bytes = ~std::uint64_t{3};
  expect("reaches beyond its cl_mem");
  const Tensor on_cuda{.dtype = Dtype::kFloat32, .element_count = 16, .address = buffer(), .where = Where::kCuda};
  expect_refused(device_meter->submit({&on_cuda, 1}, {{Category::kMax}}), Code::kUnsupported,
                 "it is in a GPU's memory, which OpenCL does not see");
}

}  // namespace refusals_test
}  // namespace tensorstat
