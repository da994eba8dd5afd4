// Tensors in CUDA's and in ROCm's memory have the values of the same bytes on the host. The driver alone reads them,
// behind the work of their stream.
#include <gtest/gtest.h>

#include <string>
#include <tensorstat/dlpack.hpp>
#include <tensorstat/meter.hpp>
#include <thread>
#include <vector>

#include "tests/support/dl_tensor.hpp"
#include "tests/support/fake_gpu.hpp"

namespace tensorstat {
namespace gpu_memory_test {

using test::Bytes;
using test::expect_same;
using test::kWindow;
using test::on_host;
using test::OnGpu;

class GpuMemory : public test::OfEachDriver {};

Categories all_of(Dtype dtype) {
  Categories all = every_category();
  std::erase_if(all, [&](Category each) { return !has(dtype, each); });
  return all;
}

TEST_P(GpuMemory, HasTheValuesOfTheHostInEveryDtypeAroundTheWindow) {
  Meter meter;
  std::vector<Dtype> dtypes = samples::whole_dtypes();
  for (const Dtype each : samples::packed_dtypes()) dtypes.push_back(each);
  for (const Dtype dtype : dtypes) {
    const std::uint64_t window = elements_of(dtype, kWindow);
    std::vector<std::uint64_t> counts{0, 1, 1000};
    if (samples::stands_for_its_family(dtype)) counts.insert(counts.end(), {window - 1, window, window + 1});
    if (dtype == Dtype::kFloat32) counts.push_back(3 * window + 5);
    for (const std::uint64_t count : counts) {
      SCOPED_TRACE(std::string(name(dtype)) + ", " + std::to_string(count));
      // md5 of many bytes takes long.
      Request request{.categories =
                          count > 1000 ? Categories{Category::kMax, Category::kAvg, Category::kL2norm} : all_of(dtype)};
      std::erase_if(request.categories, [&](Category each) { return !has(dtype, each); });
      const Bytes bytes = some(dtype, count);
      const OnGpu memory(gpu, bytes.empty() ? Bytes(1) : bytes);
      Tensor host{.dtype = dtype, .element_count = count, .address = bytes.data()};
      const Tensor device = there(memory, host);
      expect_same(meter.measure({&device, 1}, request), meter.measure({&host, 1}, request));
    }
  }
  EXPECT_EQ(gpu.largest_copy(), kWindow);
}

TEST_P(GpuMemory, SaysWhereItWasRead) {
  Meter meter;
  const Bytes bytes(1000);
  const OnGpu memory(gpu, bytes);
  const Tensor device = there(memory, on_host(Dtype::kFloat32, bytes));
  for (const On on : {On::kAuto, On::kHost}) {
    const auto result = meter.measure({&device, 1}, {.categories = {Category::kMax}, .on = on});
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->front().placement[0].engine, "host");
    const std::string_view why = on == On::kHost              ? "asked for"
                                 : GetParam() == Where::kCuda ? "libnvidia-opencl.so.1, which has the compiler"
                                                              : "ROCm's runtime takes no PTX";
    const std::string_view reason = result->front().placement[0].reason;
    EXPECT_NE(reason.find("memory, which the host reads in windows: " + std::string(why)), reason.npos) << reason;
  }
}

TEST_P(GpuMemory, InABatchWithHostMemoryAndAnotherDevice) {
  Meter meter;
  const Bytes a = some(Dtype::kFloat32, 5000), b = some(Dtype::kInt16, 70'000), c = some(Dtype::kBfloat16, 9);
  const OnGpu on_first(gpu, a), on_second(gpu, b, 1);
  const std::vector<Tensor> host{on_host(Dtype::kFloat32, a), on_host(Dtype::kInt16, b), on_host(Dtype::kBfloat16, c)};
  const std::vector<Tensor> mixed{there(on_first, host[0]), there(on_second, host[1]), host[2]};
  const Request request{.categories = {Category::kMax, Category::kAvg, Category::kMd5, Category::kArgmax}};
  expect_same(meter.measure(mixed, request), meter.measure(host, request));
}

TEST_P(GpuMemory, IsFoldedComparedReadAndMeasuredByRows) {
  Meter meter;
  const std::uint64_t count = kWindow / 4 + 4096;
  const Bytes x = some(Dtype::kFloat32, count), y = some(Dtype::kFloat32, count);
  const OnGpu on_x(gpu, x), on_y(gpu, y);
  const Tensor host_x = on_host(Dtype::kFloat32, x), host_y = on_host(Dtype::kFloat32, y);
  const Tensor device_x = there(on_x, host_x), device_y = there(on_y, host_y);
  const Request request{.categories = {Category::kMax, Category::kAvg, Category::kFirstNanIndex}};

  const auto folded = meter.fold({&device_x, 1}, request), expected = meter.fold({&host_x, 1}, request);
  ASSERT_TRUE(folded && expected);
  EXPECT_EQ(folded->front().serialize(), expected->front().serialize());

  const std::vector<TensorPair> pairs{{device_x, device_y}, {device_x, host_y}, {host_x, device_y}, {host_x, host_y}};
  std::vector<PairPlacement> places;
  const auto compared = meter.compare(pairs, {}, &places);
  ASSERT_TRUE(compared) << compared.error().message;
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ((*compared)[i].serialize(), (*compared)[3].serialize()) << i;
    EXPECT_NE(places[i].reason.find("memory, which the host reads in windows"), std::string::npos) << places[i].reason;
  }

  Bytes read(4000);
  ASSERT_TRUE(meter.read(device_x, 400, read));
  EXPECT_TRUE(std::equal(read.begin(), read.end(), x.begin() + 400));

  const By by{.shape = {64, count / 64}, .axes = {0}}, blocks{.shape = {count}, .block_elements = 100'000};
  for (const By& each : {by, blocks}) {
    expect_same(meter.measure_by(device_x, each, request), meter.measure_by(host_x, each, request));
  }
  const By many{.shape = {count}, .block_elements = 128};
  const long calls = gpu.calls();
  expect_same(meter.measure_by(device_x, many, request), meter.measure_by(host_x, many, request));
  EXPECT_LT(gpu.calls() - calls, 100) << "a copy for each window, not for each of " << count / 128 << " rows";
  const auto parts = meter.fold_by(device_x, many, request), host_parts = meter.fold_by(host_x, many, request);
  ASSERT_TRUE(parts && host_parts);
  ASSERT_EQ(parts->size(), host_parts->size());
  for (std::size_t i = 0; i < parts->size(); ++i) EXPECT_EQ((*parts)[i].serialize(), (*host_parts)[i].serialize()) << i;
  const auto columns = meter.measure_by(device_x, {.shape = {64, count / 64}, .axes = {1}}, request);
  ASSERT_FALSE(columns);
  EXPECT_NE(columns.error().message.find("in device memory, where only the first axes can be kept"), std::string::npos);
}

TEST_P(GpuMemory, IsReadBehindTheWorkOfItsStream) {
  Meter meter;
  const Request request{.categories = {Category::kMax}};
  for (const int is_blocking : {0, 1, 2}) {
    SCOPED_TRACE(is_blocking);
    const Bytes before(4 * 1000), after = some(Dtype::kInt32, 1000);
    const OnGpu memory(gpu, before);
    const Tensor host = on_host(Dtype::kInt32, after);
    Tensor device = there(memory, host);
    // Runs on the default stream, which waits for the blocking one, or on a stream of its own.
    void* const stream = gpu.stream(0, is_blocking == 1);
    if (is_blocking != 1) device.stream = is_blocking == 2 ? nullptr : stream;
    gpu.write(0, is_blocking == 2 ? nullptr : stream, memory.pointer(), after.data(), after.size());
    expect_same(meter.measure({&device, 1}, request), meter.measure({&host, 1}, request));
  }
}

// The handle 2 is another stream in each thread.
TEST_P(GpuMemory, IsReadBehindThePerThreadStreamOfAnotherThread) {
  Meter meter;
  const Request request{.categories = {Category::kMax}};
  const Bytes before(4 * 1000), after = some(Dtype::kInt32, 1000);
  const OnGpu memory(gpu, before);
  const Tensor host = on_host(Dtype::kInt32, after);
  Tensor device = there(memory, host);
  device.stream = reinterpret_cast<void*>(std::uintptr_t{2});
  gpu.write(0, device.stream, memory.pointer(), after.data(), after.size());
  std::thread([&] { expect_same(meter.measure({&device, 1}, request), meter.measure({&host, 1}, request)); }).join();
}

TEST_P(GpuMemory, OfManyThreads) {
  const Bytes bytes = some(Dtype::kFloat32, 2'500'000);
  const OnGpu memory(gpu, bytes);
  const Tensor host = on_host(Dtype::kFloat32, bytes), device = there(memory, host);
  const Request request{.categories = {Category::kMax, Category::kAvg}};
  Meter meter;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 5; ++k) expect_same(meter.measure({&device, 1}, request), meter.measure({&host, 1}, request));
    });
  }
  for (std::thread& each : threads) each.join();
}

TEST_P(GpuMemory, OfDlpack) {
  Meter meter;
  const Bytes bytes = some(Dtype::kFloat32, 60);
  const OnGpu memory(gpu, bytes);
  std::int64_t shape[] = {5, 12}, strides[] = {1, 5};
  const bool is_cuda = GetParam() == Where::kCuda;
  const Request request{.categories = {Category::kMax, Category::kArgmin}};
  const auto dlpack = [&](std::int32_t device, const void* data, std::int64_t* steps) {
    return test::DlTensor{data, {device, 0}, 2, {2, 32, 1}, shape, steps, 0};
  };
  Strides kept;
  const Tensor host = on_host(Dtype::kFloat32, bytes);
  for (const std::int32_t device : is_cuda ? std::vector{2, 13} : std::vector{10}) {
    const test::DlTensor given = dlpack(device, memory.address(), nullptr),
                         strided = dlpack(device, memory.address(), strides);
    const auto tensor = tensor_from_dlpack(&given, kept);
    ASSERT_TRUE(tensor) << tensor.error().message;
    EXPECT_EQ(tensor->where, GetParam());
    expect_same(meter.measure({&*tensor, 1}, request), meter.measure({&host, 1}, request));
    const auto refused = tensor_from_dlpack(&strided, kept);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("in device memory is strided; make it contiguous first"), std::string::npos);
  }
  // Pinned memory is the host's.
  const long calls = gpu.calls();
  const test::DlTensor pinned = dlpack(is_cuda ? 3 : 11, bytes.data(), nullptr);
  const auto tensor = tensor_from_dlpack(&pinned, kept);
  ASSERT_TRUE(tensor) << tensor.error().message;
  expect_same(meter.measure({&*tensor, 1}, request), meter.measure({&host, 1}, request));
  EXPECT_EQ(gpu.calls(), calls);
}

INSTANTIATE_TEST_SUITE_P(Drivers, GpuMemory, test::kEachDriver, test::driver_of);

}  // namespace gpu_memory_test
}  // namespace tensorstat
