// A device that keeps running and answers no more questions: a Meter returns kInUse and does not use it again. A dump
// session keeps its tensors until the process ends, reports it once, and measures on the host. At the end of each test
// the device continues and reads memory that must still exist.
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <tensorstat/meter.hpp>
#include <vector>

#include "kernels-cl/driver/cl.hpp"
#include "kernels-cl/driver/device.hpp"
#include "tests/support/cl_layer/loaded.hpp"
#include "tests/support/dump_session.hpp"

namespace tensorstat {
namespace memory_in_use_test {

constexpr std::size_t kElements = 1 << 19;  // enough for the device to be chosen

class MemoryInUse : public SessionTest {
 protected:
  void SetUp() override {
    if (std::getenv("TENSORSTAT_NO_DEVICE") != nullptr) GTEST_SKIP() << "this machine has no OpenCL device";
    mallopt(M_MMAP_THRESHOLD, 1 << 16);  // freed memory is unmapped: reading it ends the process
    setenv("TENSORSTAT_CL_PATIENCE", "20", 1);
    setenv("TENSORSTAT_CL_AUTO", "1", 1);
    static_cast<void>(cl_layer());
    auto device = cl_engine::choose_device({});
    ASSERT_TRUE(device) << device.error().message;
    context_ = cl::Context(device->device);
    queue_ = cl::CommandQueue(context_, device->device);
  }

  // From now on kernels are held, and queries fail.
  static void fall_silent() { cl_layer().hold_kernels = cl_layer().silent = true; }

  // Runs the held kernels, which read their tensors.
  void let_go() {
    cl_layer().silent = false;
    cl_layer().let_go();
    EXPECT_EQ(clFinish(queue_()), CL_SUCCESS);
  }

  cl::Context context_;
  cl::CommandQueue queue_;
};

TEST_F(MemoryInUse, AMeterSaysSoAndAsksTheDeviceNothingMore) {
  const auto values = std::make_unique<std::vector<float>>(kElements, 2.0f);
  const Tensor tensor{.dtype = Dtype::kFloat32, .element_count = kElements, .address = values->data()};
  const Categories categories = *categories_from("max,count");
  std::vector<std::string> warnings;
  {
    Meter meter({.queue = queue_(), .log = [&](Severity, std::string_view text) { warnings.emplace_back(text); }});
    const auto first = meter.measure({&tensor, 1}, {.categories = categories});
    ASSERT_TRUE(first) << first.error().message;
    ASSERT_EQ(first->front().placement[0].engine, "opencl");
    fall_silent();
    const auto failed = meter.measure({&tensor, 1}, {.categories = categories});
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, Code::kInUse);
    EXPECT_NE(failed.error().message.find("until the process ends"), std::string::npos) << failed.error().message;
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_NE(warnings[0].find("does not answer"), std::string::npos) << warnings[0];

    const std::int64_t calls = cl_layer().calls;
    const auto after = meter.measure({&tensor, 1}, {.categories = categories});
    ASSERT_TRUE(after) << after.error().message;
    EXPECT_EQ(after->front().placement[0].engine, "host");
    EXPECT_EQ(after->front().statistics.values[0], Value{2.0});
    const auto insisted = meter.measure({&tensor, 1}, {.categories = categories, .on = On::kDevice});
    ASSERT_FALSE(insisted);
    EXPECT_EQ(insisted.error().code, Code::kDevice);
    cl::Buffer there(context_, CL_MEM_READ_WRITE, kElements * sizeof(float));
    std::vector<std::byte> bytes(sizeof(float));
    Tensor in_buffer{.dtype = Dtype::kFloat32, .element_count = kElements, .address = there()};
    in_buffer.where = Where::kClBuffer;
    const std::int64_t made = cl_layer().calls;
    EXPECT_FALSE(meter.read(in_buffer, 0, bytes));
    EXPECT_EQ(cl_layer().calls, made) << "nothing is asked of it";
    EXPECT_EQ(made, calls + 1) << "but for the buffer of this test";
    EXPECT_EQ(warnings.size(), 1u);
  }  // after this the Meter can be destroyed
  let_go();
}

TEST_F(MemoryInUse, ASessionKeepsCopiesAndWhatItWasLent) {
  options.meter.queue = queue_();
  auto let_go_of = std::make_shared<int>(0);
  std::uint64_t held_bytes = 0;
  {
    auto session = open(R"({"statistic_category": ["max", "count"]})", R"({"stat_calc_mode": "device"})");
    collect(session, {}, "warm", {tensor(std::vector<float>(kElements, 1.0f), Dtype::kFloat32)});
    ASSERT_TRUE(session.flush());
    ASSERT_GT(cl_layer().kernels, 0);
    cl_layer().kernels = 0;
    fall_silent();

    const auto lent = std::make_shared<std::vector<float>>(kElements, 3.0f);
    auto kept = tensor(*lent, Dtype::kFloat32);
    kept.keep_alive = std::shared_ptr<const void>(lent->data(), [lent, let_go_of](const void*) { ++*let_go_of; });
    collect(session, {}, "kept", {tensor(std::vector<float>(kElements, 2.0f), Dtype::kFloat32), kept});
    kept.keep_alive = nullptr;
    collect(session, {}, "later", {tensor(std::vector<float>(kElements, 4.0f), Dtype::kFloat32)});
    EXPECT_TRUE(session.close());
    EXPECT_GT(cl_layer().kernels, 0) << "the device was given something";
    const auto counters = session.counters();
    EXPECT_EQ(counters.lost_tensor_count, 0u);
    EXPECT_EQ(counters.row_count, 4u);
    held_bytes = counters.held_bytes;
  }
  EXPECT_GE(held_bytes, 2 * kElements * sizeof(float)) << "what is kept counts";
  EXPECT_EQ(*let_go_of, 0);
  EXPECT_TRUE(was_said("kept until the process ends"));
  const auto table = rows();
  ASSERT_EQ(table.size(), 4u);
  for (std::size_t i = 0; i < table.size(); ++i) {
    EXPECT_EQ(table[i].statistics.values[0], Value{static_cast<double>(i + 1)});
  }
  let_go();
  EXPECT_EQ(*let_go_of, 0);
}

// If there is no room for a copy, the tensor belongs to the caller again when `collect` returns.
TEST_F(MemoryInUse, WhatASessionCannotKeepOnlyTheHostReads) {
  options.meter.queue = queue_();
  options.memory_bytes = 0;
  auto session = open(R"({"statistic_category": ["max", "count"]})", R"({"stat_calc_mode": "device"})");
  cl_layer().kernels = 0;
  collect(session, {}, "x", {tensor(std::vector<float>(kElements, 2.0f), Dtype::kFloat32)});
  EXPECT_TRUE(session.close());
  EXPECT_EQ(cl_layer().kernels, 0);
  ASSERT_EQ(rows().size(), 1u);
  EXPECT_EQ(rows()[0].statistics.values[0], Value{2.0});
}

}  // namespace memory_in_use_test
}  // namespace tensorstat
