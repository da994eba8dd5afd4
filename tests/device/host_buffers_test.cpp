// A device that shares the host's memory, and follows no pointers, sees it through buffers over it. Overlapping buffers
// are undefined, a driver may copy them, and an event does not tell when it lets go of the memory. So there are none
// unless TENSORSTAT_CL_ZERO_COPY=1 asks for them.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdlib>
#include <tensorstat/opencl.hpp>
#include <vector>

#include "kernels-cl/driver/cl.hpp"
#include "kernels-cl/driver/device.hpp"
#include "tests/support/cl_layer/loaded.hpp"

namespace tensorstat {
namespace host_buffers_test {

// The same as in callers_queue_test, which builds these kernels, too.
const Categories kCategories = *categories_from("max,min,avg,l2norm,count,nan-count,zero-count,negative-zero-count");
constexpr std::uint64_t kElements = 1 << 18;  // 1 MiB, enough for the device to be chosen

class HostBuffers : public testing::Test {
 protected:
  void SetUp() override {
    setenv("TENSORSTAT_CL_AUTO", "1", 1);
    setenv("TENSORSTAT_CL_POINTERS", "0", 1);
    ClLayer& layer = cl_layer();
    layer.overlaps = layer.peak_copied_bytes = layer.peak_buffer_bytes = 0;
  }
  void TearDown() override {
    cl_layer().read_only = nullptr;
    for (const char* name : {"TENSORSTAT_CL_AUTO", "TENSORSTAT_CL_POINTERS", "TENSORSTAT_CL_ZERO_COPY"}) unsetenv(name);
  }

  static Tensor tensor(const float* first, std::uint64_t count) { return {.element_count = count, .address = first}; }
};

TEST_F(HostBuffers, DoNotOverlap) {
  const std::vector<float> storage(2 * kElements, 1.5F);
  const Tensor half = tensor(storage.data(), kElements), whole = tensor(storage.data(), 2 * kElements);
  for (const On on : {On::kAuto, On::kDevice}) {
    Meter meter;
    ASSERT_TRUE(meter.measure(std::vector{half, whole}, {.categories = kCategories, .on = on}));
    ASSERT_TRUE(meter.compare(std::vector<TensorPair>{{half, half}}, {.on = on}));
  }
  EXPECT_EQ(cl_layer().overlaps, 0);
}

// Memory of malloc begins at 16 modulo 64, as a rule.
TEST_F(HostBuffers, TakeNoMemoryBesideTheBudget) {
  constexpr std::size_t kTensors = 8;
  constexpr std::uint64_t kBudget = std::uint64_t{1} << 20;
  std::vector<float> storage(kTensors * kElements + 32, 1.5F);
  float* first = storage.data();
  while (reinterpret_cast<std::uintptr_t>(first) % 64 != 16) ++first;
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < kTensors; ++i) tensors.push_back(tensor(first + i * kElements, kElements));
  for (const On on : {On::kAuto, On::kDevice}) {
    Meter meter({.budget_bytes = kBudget});
    ASSERT_TRUE(meter.measure(tensors, {.categories = kCategories, .on = on}));
    EXPECT_LE(static_cast<std::uint64_t>(cl_layer().peak_copied_bytes + cl_layer().peak_buffer_bytes), kBudget);
  }
}

// A file is mapped so, and NEO cannot pin such pages for a host that may write.
TEST_F(HostBuffers, MayBeOverReadOnlyPages) {
  setenv("TENSORSTAT_CL_ZERO_COPY", "1", 1);
  constexpr std::size_t kBytes = kElements * sizeof(float);
  void* const pages = mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  cl_layer().read_only = pages;
  const std::vector<float> storage(kElements, 1.5F);
  Meter meter;
  for (const void* address : {static_cast<const void*>(pages), static_cast<const void*>(storage.data())}) {
    const Tensor each = tensor(static_cast<const float*>(address), kElements);
    const auto result = meter.measure({&each, 1}, {.categories = kCategories});
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result->front().placement[0].engine, "opencl");
  }
  munmap(pages, kBytes);
}

// The caller waits for the event, frees the memory, and malloc gives a part of it to the next tensor.
TEST_F(HostBuffers, DoNotOutliveAnEvent) {
  auto device = cl_engine::choose_device({});
  ASSERT_TRUE(device) << device.error().message;
  const cl::Context context(device->device);
  const cl::CommandQueue queue(context, device->device);
  auto meter = DeviceMeter::on(queue());
  ASSERT_TRUE(meter) << meter.error().message;
  const std::vector<float> storage(2 * kElements, 1.5F);
  const Tensor first = tensor(storage.data(), 2 * kElements), next = tensor(storage.data() + 64, kElements);
  auto ticket = meter->submit({&first, 1}, {.categories = kCategories});
  const cl::Event event(ticket ? static_cast<cl_event>(ticket->event()) : nullptr, true);
  if (ticket) event.wait();
  const auto second = meter->submit({&next, 1}, {.categories = kCategories});
  EXPECT_EQ(cl_layer().overlaps, 0);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("which the device does not share"), std::string::npos);
}

}  // namespace host_buffers_test
}  // namespace tensorstat
