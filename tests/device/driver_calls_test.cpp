// Tensors of one cl_mem, one behind the other, cost the driver's answers about it once. A layer counts the driver's
// calls.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/opencl.h>
#include <gtest/gtest.h>

#include <functional>
#include <tensorstat/opencl.hpp>
#include <vector>

#include "tests/support/cl_layer/loaded.hpp"

namespace tensorstat {
namespace driver_calls_test {

const Categories kCategories = *categories_from("max,avg,zero-count");
constexpr std::size_t kFew = 2, kMany = 500, kElements = 64;

class DriverCalls : public testing::Test {
 protected:
  DriverCalls() {
    static_cast<void>(cl_layer());
    cl_platform_id platform = nullptr;
    cl_device_id device = nullptr;
    cl_int code = clGetPlatformIDs(1, &platform, nullptr);
    if (code == CL_SUCCESS) code = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr);
    if (code == CL_SUCCESS) context_ = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &code);
    if (code == CL_SUCCESS) queue_ = clCreateCommandQueue(context_, device, 0, &code);
    EXPECT_EQ(code, CL_SUCCESS);
    for (cl_mem& buffer : buffers_) {
      std::vector<float> ones(kMany * kElements, 1.0f);
      buffer = clCreateBuffer(context_, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, ones.size() * sizeof ones[0],
                              ones.data(), &code);
      EXPECT_EQ(code, CL_SUCCESS);
    }
  }
  ~DriverCalls() override {
    for (cl_mem buffer : buffers_) clReleaseMemObject(buffer);
    clReleaseCommandQueue(queue_);
    clReleaseContext(context_);
  }

  Tensor tensor(std::size_t buffer, std::size_t number) const {
    return {.dtype = Dtype::kFloat32,
            .element_count = kElements,
            .address = buffers_[buffer],
            .offset_bytes = number * kElements * sizeof(float),
            .where = Where::kClBuffer};
  }
  std::vector<Tensor> tensors(std::size_t count) const {
    std::vector<Tensor> all;
    for (std::size_t i = 0; i < count; ++i) all.push_back(tensor(0, i));
    return all;
  }
  std::vector<TensorPair> pairs(std::size_t count) const {
    std::vector<TensorPair> all;
    for (std::size_t i = 0; i < count; ++i) all.push_back({tensor(0, i), tensor(1, i)});
    return all;
  }

  // `work(count)` succeeds, and makes no calls for each item. Many items may need a larger buffer than a few.
  static void expect_constant(const std::function<bool(std::size_t count)>& work) {
    ASSERT_TRUE(work(kFew));  // makes the kernels
    std::int64_t calls[2];
    for (const bool many : {false, true}) {
      cl_layer().calls = 0;
      ASSERT_TRUE(work(many ? kMany : kFew));
      calls[many] = cl_layer().calls;
    }
    EXPECT_GT(calls[0], 0);
    EXPECT_LT(calls[1] - calls[0], 10);
  }

  cl_context context_ = nullptr;
  cl_command_queue queue_ = nullptr;
  cl_mem buffers_[2] = {};
};

TEST_F(DriverCalls, OfAMeter) {
  Meter meter({.queue = queue_});
  expect_constant([&](std::size_t count) {
    const auto results = meter.measure(tensors(count), {.categories = kCategories, .on = On::kDevice});
    return results && results->size() == count;
  });
  expect_constant([&](std::size_t count) {
    const auto results = meter.compare(pairs(count), {.on = On::kDevice});
    return results && results->size() == count;
  });
}

TEST_F(DriverCalls, OfASubmittedBatch) {
  auto meter = DeviceMeter::on(queue_);
  ASSERT_TRUE(meter) << meter.error().message;
  expect_constant([&](std::size_t count) {
    auto ticket = meter->submit(tensors(count), {.categories = kCategories});
    return ticket && ticket->collect();
  });
  expect_constant([&](std::size_t count) {
    auto ticket = meter->compare(pairs(count), {});
    return ticket && ticket->collect();
  });
}

// The answers do not outlive a call: the same handle may be another buffer's afterwards.
TEST_F(DriverCalls, ATensorBeyondItsBufferIsFoundInEachCall) {
  Meter meter({.queue = queue_});
  const Request request{.categories = kCategories, .on = On::kDevice};
  ASSERT_TRUE(meter.measure(tensors(kFew), request));
  std::vector<Tensor> beyond = tensors(kFew);
  beyond.back().offset_bytes = kMany * kElements * sizeof(float);
  const auto refused = meter.measure(beyond, request);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalid);
}

}  // namespace driver_calls_test
}  // namespace tensorstat
