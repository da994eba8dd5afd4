// Of tensors in a GPU's memory: an error of any call of the driver is named, what cannot be read is refused in words,
// and the caller's context, his captures and a forked child are unharmed.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <tensorstat/meter.hpp>

#include "tests/support/fake_gpu.hpp"

namespace tensorstat {
namespace gpu_memory_faults_test {

using test::Bytes;
using test::expect_same;
using test::kWindow;
using test::on_host;
using test::OnGpu;

class GpuMemoryFaults : public test::OfEachDriver {};

TEST_P(GpuMemoryFaults, LeavesTheCallersContextAndTheCapturesOfOthers) {
  const Bytes bytes = some(Dtype::kFloat32, 3'000'000);
  const OnGpu memory(gpu, bytes);
  const Tensor host = on_host(Dtype::kFloat32, bytes), device = there(memory, host);
  const Request request{.categories = {Category::kMax}};
  void* const others = gpu.stream(0, false);
  gpu.capture(others, true);
  int callers = 0;
  for (void* const context : {static_cast<void*>(nullptr), static_cast<void*>(&callers)}) {
    gpu.make_current(context);
    Meter meter;
    expect_same(meter.measure({&device, 1}, request), meter.measure({&host, 1}, request));
    EXPECT_EQ(gpu.current(), context);
  }
  gpu.make_current(nullptr);
  gpu.capture(others, false);
}

TEST_P(GpuMemoryFaults, IsRefusedWhileItsStreamIsCaptured) {
  Meter meter;
  const Bytes bytes(4000);
  const OnGpu memory(gpu, bytes);
  const Request request{.categories = {Category::kMax}};
  for (const bool is_default : {false, true}) {
    Tensor device = there(memory, on_host(Dtype::kFloat32, bytes));
    void* const stream = gpu.stream(0, true);
    device.stream = is_default ? nullptr : stream;
    gpu.capture(stream, true);
    const auto result = meter.measure({&device, 1}, request);
    gpu.capture(stream, false);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Code::kUnsupported);
    EXPECT_NE(result.error().message.find("its stream is being captured into a graph"), std::string::npos)
        << result.error().message;
    EXPECT_TRUE(meter.measure({&device, 1}, request)) << "afterwards it is measured";
  }
}

TEST_P(GpuMemoryFaults, IsRefusedInWords) {
  Meter meter;
  const Bytes bytes(4000);
  const OnGpu memory(gpu, bytes), foreign(gpu, bytes, 0, OnGpu::kForeign);
  const Tensor good = there(memory, on_host(Dtype::kFloat32, bytes));
  const auto expect_refused = [&](const Tensor& bad, Code code, const std::string& words, On on = On::kAuto) {
    const auto result = meter.measure({&bad, 1}, {.categories = {Category::kMax}, .on = on});
    ASSERT_FALSE(result) << words;
    EXPECT_EQ(result.error().code, code);
    EXPECT_NE(result.error().message.find(words), std::string::npos) << result.error().message;
  };
  Tensor bad = good;
  const Strides strides{{2, 500}, {4, 8}};
  bad.strides = &strides;
  expect_refused(bad, Code::kUnsupported, "tensor 0: it has strides and is in a GPU's memory");
  bad = good;
  bad.address = bytes.data();
  expect_refused(bad, Code::kDevice, "memory cannot be read: ");
  expect_refused(bad, Code::kDevice, "PointerGetAttribute: FAKE_ERROR_INVALID_VALUE");
  bad = good;
  bad.element_count += 1;
  expect_refused(bad, Code::kDevice, "MemcpyDtoHAsync");
  bad.address = nullptr;
  expect_refused(bad, Code::kInvalid, "its address is null");
  expect_refused(good, Code::kDevice,
                 GetParam() == Where::kCuda ? "the device cannot do it: libnvidia-opencl.so.1"
                                            : "the device cannot do it: ROCm's runtime takes no PTX",
                 On::kDevice);
  if (GetParam() == Where::kCuda) {
    expect_refused(there(foreign, good), Code::kUnsupported, "a context that is not the primary one");
  }
  EXPECT_TRUE(meter.measure({&good, 1}, {.categories = {Category::kMax}})) << "a refusal costs the Meter nothing";
}

// A program with a context of its own does not get a second one, which takes hundreds of MB of the GPU.
TEST_P(GpuMemoryFaults, ForMemoryOfAnotherContextNoContextIsMade) {
  if (GetParam() != Where::kCuda) GTEST_SKIP() << "ROCm has no contexts";
  Meter meter;
  const Bytes bytes(4000);
  const OnGpu foreign(gpu, bytes, 0, OnGpu::kForeign);
  const Tensor tensor = there(foreign, on_host(Dtype::kFloat32, bytes));
  const auto result = meter.measure({&tensor, 1}, {.categories = {Category::kMax}});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kUnsupported);
  EXPECT_EQ(gpu.held(), 0) << "contexts, while the Meter lives";
}

// Once, and from a call on, as after a kernel of the caller's has failed.
TEST_P(GpuMemoryFaults, AnErrorOfAnyCallIsNamedAndLeaksNothing) {
  const Bytes bytes = some(Dtype::kFloat32, 5'000'000);  // three windows
  const OnGpu memory(gpu, bytes);
  const Tensor host = on_host(Dtype::kFloat32, bytes), device = there(memory, host);
  const Request request{.categories = {Category::kMax, Category::kAvg}};
  for (const bool from_then_on : {false, true}) {
    std::size_t errors = 0;
    for (long nth = 1;; ++nth) {
      SCOPED_TRACE(std::to_string(nth) + (from_then_on ? " and on" : ""));
      const long before = gpu.calls();
      gpu.fail(nth, from_then_on);
      {
        Meter meter({.threads = 1});
        const auto result = meter.measure({&device, 1}, request);
        if (result) {
          expect_same(result, meter.measure({&host, 1}, request));
        } else {
          ++errors;
          EXPECT_EQ(result.error().code, Code::kDevice);
          const std::string& words = result.error().message;
          // If every call fails, so does the one that names the error.
          const char* const end = from_then_on ? ": error 700" : ": FAKE_ERROR_ILLEGAL_ADDRESS";
          EXPECT_NE(words.find(" memory cannot be read: "), std::string::npos) << words;
          EXPECT_NE(words.find(end), std::string::npos) << words;
          gpu.fail(0, 0);
          for (const std::uint64_t offset :
               {kWindow, std::uint64_t{0}}) {  // the second window may have been on its way
            Tensor part = device, expected = host;
            part.offset_bytes = expected.offset_bytes = offset;
            part.element_count = expected.element_count = offset == 0 ? host.element_count : kWindow / 4;
            expect_same(meter.measure({&part, 1}, request), meter.measure({&expected, 1}, request));
          }
        }
      }
      gpu.fail(0, 0);
      EXPECT_EQ(gpu.held(), 0);
      EXPECT_EQ(gpu.current(), nullptr);
      if (gpu.calls() - before < nth) break;
    }
    EXPECT_GE(errors, 20u);
  }
}

TEST_P(GpuMemoryFaults, NothingIsOnItsWayAfterARefusal) {
  Meter meter;
  const Bytes bytes = some(Dtype::kFloat32, kWindow / 2), later = some(Dtype::kFloat32, kWindow / 4);
  const OnGpu memory(gpu, bytes);
  const Tensor device = there(memory, on_host(Dtype::kFloat32, bytes));
  Tensor bad = device;
  bad.address = bytes.data();
  const TensorPair pair{device, bad};
  ASSERT_FALSE(meter.compare({&pair, 1}));  // the second window of the first one was on its way
  gpu.write(0, nullptr, memory.pointer() + kWindow, later.data(), later.size());
  Tensor behind = device;
  behind.offset_bytes = kWindow;
  behind.element_count = kWindow / 4;
  const Tensor host = on_host(Dtype::kFloat32, later);
  const Request request{.categories = {Category::kMax, Category::kAvg}};
  expect_same(meter.measure({&behind, 1}, request), meter.measure({&host, 1}, request));
}

TEST_P(GpuMemoryFaults, IsRefusedInAForkedChildWhichMayEnd) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "TSan does not follow a process with threads that forks";
#endif
  const Bytes bytes(4000);
  const OnGpu memory(gpu, bytes);
  const Tensor host = on_host(Dtype::kFloat32, bytes), device = there(memory, host);
  const Request request{.categories = {Category::kMax}};
  auto meter = std::make_unique<Meter>();
  ASSERT_TRUE(meter->measure({&device, 1}, request));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(30);
    const long calls = gpu.calls();
    const auto refused = meter->measure({&device, 1}, request);
    const bool is_right = !refused && refused.error().message.find("a forked child") != std::string::npos &&
                          meter->measure({&host, 1}, request);
    meter.reset();
    std::_Exit(is_right && gpu.calls() == calls ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(meter->measure({&device, 1}, request));
}

INSTANTIATE_TEST_SUITE_P(Drivers, GpuMemoryFaults, test::kEachDriver, test::driver_of);

}  // namespace gpu_memory_faults_test
}  // namespace tensorstat
