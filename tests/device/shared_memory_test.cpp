// Tensors in shared virtual memory. A device that supports it reads them by address, in one launch per dtype, and every
// pointer is announced to it. For a device without support there is an error with a message, and `auto` uses the host.
// pocl has SVM buffers. A layer claims the other kinds, because pocl's kernels can follow any pointer.
#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>
#include <tensorstat/opencl.hpp>
#include <vector>

#include "kernels-cl/driver/cl.hpp"
#include "kernels-cl/driver/device.hpp"
#include "tests/support/cl_layer/loaded.hpp"
#include "tests/support/samples.hpp"

// OpenCL 2.0's functions, later than the version that the library's bindings use.
extern "C" void* CL_API_CALL clSVMAlloc(cl_context context, cl_bitfield flags, std::size_t bytes, cl_uint alignment);
extern "C" void CL_API_CALL clSVMFree(cl_context context, void* memory);

namespace tensorstat {
namespace shared_memory_test {

const Categories kCategories = *categories_from("max,min,avg,l2norm,count,nan-count,zero-count,negative-zero-count");
constexpr std::int64_t kReal = -1, kNone = 0, kCoarse = 1, kFine = 2 | 1, kSystem = 4 | 2 | 1;

// Fine-grain buffers of a context, freed with this object.
class Allocations {
 public:
  explicit Allocations(const cl::Context& context) : context_(context) {}
  ~Allocations() {
    for (void* each : all_) clSVMFree(context_(), each);
  }
  const void* copy(const Tensor& tensor) {
    void* to = clSVMAlloc(context_(), CL_MEM_READ_ONLY | 1 << 10, tensor.bytes(), 0);
    if (to == nullptr) throw std::runtime_error("clSVMAlloc failed");
    std::memcpy(to, tensor.address, tensor.bytes());
    all_.push_back(to);
    return to;
  }

 private:
  cl::Context context_;
  std::vector<void*> all_;
};

class SharedMemory : public testing::Test {
 protected:
  SharedMemory() {
    setenv("TENSORSTAT_CL_ZERO_COPY", "0", 1);
    for (int i = 0; i < 60; ++i) {
      const Dtype dtype = i % 3 == 0 ? Dtype::kInt8 : Dtype::kFloat32;
      bytes_.push_back(samples::of(dtype)[0].make(dtype, 1 + random_() % 5000, random_));
      tensors_.push_back({.dtype = dtype,
                          .element_count = bytes_.back().size() / size_bytes(dtype),
                          .address = bytes_.back().data(),
                          .where = i % 2 == 0 ? Where::kSharedMemory : Where::kHost});
      shared_ += i % 2 == 0;
      total_bytes_ += bytes_.back().size();
    }
  }
  ~SharedMemory() override {
    cl_layer().svm_capabilities = kReal;
    unsetenv("TENSORSTAT_CL_ZERO_COPY");
  }

  void claim(std::int64_t capabilities) {
    cl_layer().svm_capabilities = capabilities;
    cl_layer().announced_pointers = cl_layer().announced_systems = cl_layer().kernels = 0;
  }

  void expect_right(const Result<Measurements>& result) const {
    ASSERT_TRUE(result) << result.error().message;
    const auto expected = Meter().measure(tensors_, {.categories = kCategories, .on = On::kHost});
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      EXPECT_EQ(Statistics((*result)[i].statistics).values, Statistics((*expected)[i].statistics).values)
          << "tensor " << i;
    }
  }

  // Shared virtual memory belongs to the context of a queue. The tensors here only claim to be there.
  MeterOptions on_a_queue() {
    const auto device = cl_engine::choose_device({});
    EXPECT_TRUE(device) << device.error().message;
    queue_ = cl::CommandQueue(cl::Context(device->device), device->device);
    return {.queue = queue_()};
  }

  samples::Random random_{samples::seed()};
  cl::CommandQueue queue_;
  std::vector<std::vector<std::byte>> bytes_;
  std::vector<Tensor> tensors_;
  std::int64_t shared_ = 0;
  std::uint64_t total_bytes_ = 0;
};

TEST_F(SharedMemory, IsRefusedWithWordsWhereThereIsNone) {
  claim(kNone);
  Meter meter;
  const auto insisted = meter.measure(tensors_, {.categories = kCategories, .on = On::kDevice});
  ASSERT_FALSE(insisted);
  EXPECT_NE(insisted.error().message.find("shared virtual memory"), std::string::npos) << insisted.error().message;
  expect_right(meter.measure(tensors_, {.categories = kCategories}));
}

TEST_F(SharedMemory, OfBuffersIsAnnounced) {
  for (const std::int64_t kind : {kCoarse, kFine}) {
    claim(kind);
    expect_right(Meter(on_a_queue()).measure(tensors_, {.categories = kCategories, .on = On::kDevice}));
    EXPECT_EQ(cl_layer().announced_pointers, shared_);
    EXPECT_EQ(cl_layer().announced_systems, 0);
  }
}

// Pairs with both tensors in shared memory, or with one there and one uploaded.
TEST_F(SharedMemory, OfPairsIsAnnounced) {
  std::vector<TensorPair> pairs;
  for (std::size_t i = 0; i + 6 < tensors_.size(); ++i) {
    TensorPair pair{tensors_[i], tensors_[i + (i % 4 < 2 ? 6 : 3)]};  // both of one dtype
    pair.a.element_count = pair.b.element_count = std::min(pair.a.element_count, pair.b.element_count);
    pairs.push_back(pair);
  }
  const auto expected = Meter().compare(pairs, {.on = On::kHost});
  ASSERT_TRUE(expected) << expected.error().message;
  for (const std::int64_t kind : {kFine, kSystem}) {
    claim(kind);
    const auto result = Meter(on_a_queue()).compare(pairs, {.on = On::kDevice});
    ASSERT_TRUE(result) << result.error().message;
    for (std::size_t i = 0; i < pairs.size(); ++i) EXPECT_EQ((*result)[i].serialize(), (*expected)[i].serialize()) << i;
    EXPECT_GT(kind == kFine ? cl_layer().announced_pointers : cl_layer().announced_systems, 0);
  }
}

TEST_F(SharedMemory, OfTheSystemIsAllMemory) {
  claim(kSystem);
  Meter meter;
  expect_right(meter.measure(tensors_, {.categories = kCategories, .on = On::kDevice}));
  EXPECT_EQ(cl_layer().announced_pointers, 0);
  EXPECT_GT(cl_layer().announced_systems, 0);
  EXPECT_EQ(cl_layer().kernels, 4);                           // two that probe, and one per dtype
  EXPECT_LT(meter.device_memory().peak_bytes, total_bytes_);  // nothing was uploaded
}

// It belongs to one context, and only the caller's queue tells which.
TEST_F(SharedMemory, WithoutAQueueIsRefused) {
  claim(kFine);
  Meter meter;
  const auto insisted = meter.measure(tensors_, {.categories = kCategories, .on = On::kDevice});
  ASSERT_FALSE(insisted);
  EXPECT_NE(insisted.error().message.find("needs MeterOptions::queue"), std::string::npos) << insisted.error().message;
  EXPECT_EQ(cl_layer().announced_pointers, 0);
  expect_right(meter.measure(tensors_, {.categories = kCategories}));
}

// The host sees coarse-grained memory only while it is mapped. So `auto` gives even a small tensor to the device, also
// beside one in host memory, and the host does not take over.
TEST_F(SharedMemory, MayBeCoarseGrainedAndThenIsTheDevices) {
  claim(kCoarse);
  const std::vector<float> small(1024, 1.5F);
  Tensor tensor{.element_count = small.size(), .address = small.data(), .where = Where::kSharedMemory};
  Tensor beside = tensor;
  beside.where = Where::kHost;
  MeterOptions options = on_a_queue();
  Meter meter(options);
  const auto result = meter.measure({&tensor, 1}, {.categories = kCategories});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->front().placement[0].engine, "opencl");
  for (const TensorPair& pair : {TensorPair{tensor, tensor}, TensorPair{beside, tensor}}) {
    std::vector<PairPlacement> placements;
    ASSERT_TRUE(meter.compare({&pair, 1}, {}, &placements));
    EXPECT_EQ(placements[0].engine, "opencl");
  }
  options.budget_bytes = 0;
  Meter poor(options);
  const auto refused = poor.measure({&tensor, 1}, {.categories = kCategories});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kOverBudget) << refused.error().message;
  EXPECT_TRUE(poor.measure({&tensor, 1}, {.categories = kCategories, .on = On::kHost}));
}

// A kernel keeps its list of announced pointers. If it is launched with a cl_mem, the driver would use memory that may
// no longer exist.
TEST_F(SharedMemory, IsNotListedForALaterBuffer) {
  claim(kFine);
  cl_layer().stale_pointers = 0;
  Meter meter(on_a_queue());
  std::vector<Tensor> in_host_memory = tensors_;
  std::erase_if(in_host_memory, [](const Tensor& tensor) { return tensor.where == Where::kSharedMemory; });
  for (int i = 0; i < 3; ++i) {
    expect_right(meter.measure(tensors_, {.categories = kCategories, .on = On::kDevice}));
    const std::int64_t announced = cl_layer().announced_pointers;
    EXPECT_EQ(announced, (i + 1) * shared_);
    ASSERT_TRUE(meter.measure(in_host_memory, {.categories = kCategories, .on = On::kDevice}));
    EXPECT_EQ(cl_layer().announced_pointers, announced) << "these go through buffers";
  }
  EXPECT_EQ(cl_layer().stale_pointers, 0);
}

TEST_F(SharedMemory, GoesToACallersQueue) {
  claim(kFine);
  std::erase_if(tensors_, [](const Tensor& tensor) { return tensor.where != Where::kSharedMemory; });
  auto device = cl_engine::choose_device({});
  ASSERT_TRUE(device) << device.error().message;
  const cl::Context context(device->device);
  cl_bitfield has = 0;
  static_cast<void>(clGetDeviceInfo(device->device(), 0x1053, sizeof has, &has, nullptr));
  if ((has & kFine) != kFine) GTEST_SKIP() << device->info.name << " has no shared virtual memory";
  Allocations memory(context);
  for (Tensor& tensor : tensors_) tensor.address = memory.copy(tensor);
  const cl::CommandQueue queue(context, device->device);
  auto meter = DeviceMeter::on(queue());
  ASSERT_TRUE(meter) << meter.error().message;
  auto ticket = meter->submit(tensors_, {.categories = kCategories});
  ASSERT_TRUE(ticket) << ticket.error().message;
  expect_right(ticket->collect());
  EXPECT_EQ(cl_layer().announced_pointers, shared_);
}

}  // namespace shared_memory_test
}  // namespace tensorstat
