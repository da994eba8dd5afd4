// A tensor in a cl_mem of the caller's context, without a queue: the device measures it, or the library reads it back
// if the host has to do some of the work. stats/job/dump/README.md describes such a backend. Also: the library exports
// no function of OpenCL's C++ bindings, so the program's copy cannot replace ours.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/opencl.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <tensorstat/meter.hpp>
#include <tensorstat/opencl.hpp>
#include <vector>

#include "tests/support/built.hpp"
#include "tests/support/samples.hpp"

namespace tensorstat {
namespace callers_context_test {

// A buffer in a context of its own, as in a framework that does not know the library.
class Foreign {
 public:
  explicit Foreign(std::vector<std::byte> bytes, cl_mem_flags flags = CL_MEM_READ_WRITE) {
    cl_platform_id platform = nullptr;
    cl_device_id device = nullptr;
    cl_int code = clGetPlatformIDs(1, &platform, nullptr);
    if (code == CL_SUCCESS) code = clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr);
    if (code == CL_SUCCESS) context_ = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &code);
    if (code == CL_SUCCESS) {
      buffer_ = clCreateBuffer(context_, flags | CL_MEM_COPY_HOST_PTR, bytes.size(), bytes.data(), &code);
    }
    EXPECT_EQ(code, CL_SUCCESS);
  }
  ~Foreign() {
    if (buffer_ != nullptr) clReleaseMemObject(buffer_);
    if (context_ != nullptr) clReleaseContext(context_);
  }
  Foreign(const Foreign&) = delete;
  Foreign& operator=(const Foreign&) = delete;
  cl_mem buffer() const { return buffer_; }
  cl_context context() const { return context_; }

 private:
  cl_context context_ = nullptr;
  cl_mem buffer_ = nullptr;
};

cl_uint references(cl_context context) {
  cl_uint count = 0;
  EXPECT_EQ(clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof count, &count, nullptr), CL_SUCCESS);
  return count;
}

class CallersContext : public testing::Test {
 protected:
  CallersContext() {
    static_cast<void>(list_devices());  // tries pocl out before its first use
    bytes_ = samples::of(Dtype::kFloat32)[0].make(Dtype::kFloat32, 300'000, random_);
    tensor_.element_count = 300'000;
    tensor_.address = bytes_.data();
    const auto result = Meter().measure({&tensor_, 1}, {.categories = kCategories, .on = On::kHost});
    EXPECT_TRUE(result);
    if (result) expected_ = Statistics(result->front().statistics).values;
  }

  void expect_right(Meter& meter, const Foreign& foreign, On on) const {
    Tensor tensor = tensor_;
    tensor.address = foreign.buffer();
    tensor.where = Where::kClBuffer;
    const auto result = meter.measure({&tensor, 1}, {.categories = kCategories, .on = on});
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(Statistics(result->front().statistics).values, expected_);
    EXPECT_EQ(result->front().placement[0].engine, on == On::kHost ? "host" : "opencl");
    std::vector<std::byte> back(bytes_.size());
    const Status read = meter.read(tensor, 0, back);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(back, bytes_);
  }

  const Categories kCategories = *categories_from("max,min,avg,l2norm,nan-count,md5");
  samples::Random random_{samples::seed()};
  std::vector<std::byte> bytes_;
  Tensor tensor_;
  std::vector<Value> expected_;
};

TEST_F(CallersContext, IsTakenFromTheTensor) {
  Meter meter;
  const Foreign foreign(bytes_);
  for (const On on : {On::kDevice, On::kHost}) expect_right(meter, foreign, on);
}

// The host may not read it, but the device may. A budget has it read in several parts.
TEST_F(CallersContext, MayForbidTheHostToRead) {
  for (const cl_mem_flags flags : {CL_MEM_HOST_NO_ACCESS, CL_MEM_HOST_WRITE_ONLY}) {
    const Foreign foreign(bytes_, flags);
    for (const On on : {On::kDevice, On::kHost}) {
      Meter meter;
      expect_right(meter, foreign, on);
    }
    Meter meter({.budget_bytes = 100'000});
    expect_right(meter, foreign, On::kHost);
    EXPECT_LE(meter.device_memory().peak_bytes, 100'000u);
  }
}

TEST_F(CallersContext, AnImageIsRefusedAndCostsNoDevice) {
  const Foreign foreign(bytes_);
  const cl_image_format format{CL_RGBA, CL_FLOAT};
  cl_image_desc facts{};
  facts.image_type = CL_MEM_OBJECT_IMAGE2D;
  facts.image_width = facts.image_height = 64;
  cl_int code = CL_SUCCESS;
  const cl_mem image = clCreateImage(foreign.context(), CL_MEM_READ_ONLY, &format, &facts, nullptr, &code);
  if (code == CL_INVALID_OPERATION) GTEST_SKIP() << "the device has no images";
  ASSERT_EQ(code, CL_SUCCESS);
  Meter meter;
  const Tensor tensor{.element_count = 1000, .address = image, .where = Where::kClBuffer};
  for (const On on : {On::kAuto, On::kDevice, On::kHost}) {
    const auto result = meter.measure({&tensor, 1}, {.categories = kCategories, .on = on});
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Code::kInvalid) << result.error().message;
  }
  expect_right(meter, foreign, On::kAuto);
  clReleaseMemObject(image);
}

// More contexts than the library keeps. A driver may keep a context for a while because of its last events. If Meters
// kept them, they would add up.
TEST_F(CallersContext, MayBeMany) {
  std::vector<std::unique_ptr<Foreign>> all;
  for (int i = 0; i < 11; ++i) all.push_back(std::make_unique<Foreign>(bytes_));
  constexpr cl_uint kMeters = 6;
  const cl_uint before = references(all.front()->context());
  for (cl_uint i = 0; i < kMeters; ++i) {
    Meter meter;
    for (const auto& each : all) expect_right(meter, *each, On::kHost);
  }
  EXPECT_LT(references(all.front()->context()), before + kMeters / 2);
}

// By the specification a queue's commands can use the memory of its own context alone. Not every driver finds it.
TEST_F(CallersContext, OfAnotherQueueIsRefused) {
  const Foreign home(bytes_), foreign(bytes_);
  cl_device_id device = nullptr;
  ASSERT_EQ(clGetContextInfo(home.context(), CL_CONTEXT_DEVICES, sizeof device, &device, nullptr), CL_SUCCESS);
  const cl_command_queue queue = clCreateCommandQueue(home.context(), device, 0, nullptr);
  ASSERT_NE(queue, nullptr);
  {
    auto meter = DeviceMeter::on(queue);
    ASSERT_TRUE(meter) << meter.error().message;
    Tensor tensor = tensor_;
    tensor.where = Where::kClBuffer;
    const Request request{.categories = *categories_from("max")};
    for (const Foreign* const memory : {&foreign, &home}) {
      tensor.address = memory->buffer();
      auto ticket = meter->submit({&tensor, 1}, request);
      EXPECT_EQ(static_cast<bool>(ticket), memory == &home);
      if (ticket) {
        EXPECT_TRUE(ticket->collect());
      } else {
        EXPECT_EQ(ticket.error().code, Code::kUnsupported) << ticket.error().message;
      }
    }
  }
  clReleaseCommandQueue(queue);
}

TEST(Bindings, AreOurs) {
  const std::string command = "nm '" + built::library() + "' 2>/dev/null";
  const std::unique_ptr<FILE, int (*)(FILE*)> names(popen(command.c_str(), "r"), pclose);
  ASSERT_NE(names, nullptr);
  std::array<char, 4096> line{};
  int ours = 0;
  while (fgets(line.data(), line.size(), names.get()) != nullptr) {
    ours += std::strstr(line.data(), "tensorstat_private_cl") != nullptr;
    // The mangled names of the bindings, also in templates of the standard library, and of const members.
    for (const char* theirs : {"N2cl", "NK2cl"}) EXPECT_EQ(std::strstr(line.data(), theirs), nullptr) << line.data();
  }
  EXPECT_GT(ours, 0);
}

}  // namespace callers_context_test
}  // namespace tensorstat
