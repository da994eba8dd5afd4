// With DumpOptions::ordered_by_queue, collect() of tensors in CUDA's memory enqueues and returns, and the rows are
// those of a session that waits: the same bits in the same order. The driver is a double, whose streams run nothing
// until they are waited for.
#include <gtest/gtest.h>

#include <memory>

#include "tests/support/dump_session.hpp"
#include "tests/support/fake_gpu.hpp"
#include "tests/support/planted_ptx.hpp"
#include "tests/support/samples.hpp"

namespace tensorstat {
namespace session_gpu_board_test {

using test::Bytes;
using test::OnGpu;

class SessionGpuBoard : public SessionTest {
 protected:
  void SetUp() override {
    setenv("XDG_CACHE_HOME", cache_.path().c_str(), 1);
    test::plant(Dtype::kFloat32, {Category::kMax, Category::kMin, Category::kAvg, Category::kL2norm});
    options.dialect = Dialect::kOurs;  // numbers that read back
    options.ordered_by_queue = true;
    EXPECT_EQ(gpu.held(), 0);
  }
  void TearDown() override {
    EXPECT_EQ(gpu.held(), 0);
    EXPECT_FALSE(gpu.has_broken_a_capture());
  }

  DumpTensor there(const OnGpu& memory, std::uint64_t count, std::uint32_t slot = 0, void* stream = nullptr) const {
    DumpTensor tensor;
    tensor.tensor = {
        .dtype = Dtype::kFloat32, .element_count = count, .address = memory.address(), .where = Where::kCuda};
    tensor.tensor.stream = stream;
    tensor.shape = {count};
    tensor.slot = slot;
    return tensor;
  }
  Bytes floats(std::uint64_t count) { return samples::one_of(Dtype::kFloat32, 0, count, random); }

  // All that the rows of these steps say but their time.
  std::vector<std::string> texts(const std::string& run, int steps) const {
    std::vector<std::string> all;
    for (int step = 0; step < steps; ++step) {
      for (const Row& row : rows(run + "/rank_0/Net/0/" + std::to_string(step) + "/statistic.csv")) {
        std::string text = std::to_string(step) + " " + row.identity.op_name + " " + to_string(row.shape) + " " +
                           std::string(row.identity.io) + std::to_string(row.identity.slot);
        for (const Value& value : row.statistics.values) text += " " + to_string(value);
        all.push_back(text);
      }
    }
    return all;
  }

  const std::string kStatistics = R"({"statistic_category": ["max", "min", "avg", "l2norm"]})";
  const std::string kAsynchronous = R"({"enable": false})";  // step_end() does not wait for the files
  const test::FakeGpu& gpu = test::fake(Where::kCuda);
  samples::Random random{samples::seed()};

 private:
  ScratchFolder cache_{folder_of_this_program()};
};

// In the session that does not wait, each tensor is overwritten behind its fold. Nothing of that has run when the steps
// have ended.
TEST_F(SessionGpuBoard, TheRowsAreThoseOfASessionThatWaitsAndNothingWaits) {
  constexpr int kSteps = 4, kOperators = 6;
  void* const side = gpu.stream(0, 0);
  const std::vector<float> on_host{1, 2, -3};
  const OnGpu first(gpu, Bytes(20'000)), second(gpu, Bytes(4000));
  std::vector<std::vector<Bytes>> contents(kSteps);
  for (auto& step : contents) {
    for (int i = 0; i < 2 * kOperators; ++i) step.push_back(floats(i % 2 == 0 ? 5000 : 1000));
  }
  std::vector<std::vector<std::string>> found;
  for (const bool ordered : {true, false}) {
    options.ordered_by_queue = ordered;
    const std::string run = ordered ? "ordered" : "waits";
    options.path = folder / run;
    auto session = open(kStatistics, kAsynchronous);
    long waits = 0, held = 0;
    for (int step = 0; step < kSteps; ++step) {
      const DumpPlace now{.iteration = static_cast<std::uint64_t>(step)};
      for (int i = 0; i < kOperators; ++i) {
        const std::string name = "op" + std::to_string(i);
        const auto at = static_cast<std::size_t>(2 * i);
        const Bytes &one = contents[static_cast<std::size_t>(step)][at],
                    &other = contents[static_cast<std::size_t>(step)][at + 1];
        gpu.write(0, nullptr, first.pointer(), one.data(), one.size());
        gpu.write(0, side, second.pointer(), other.data(), other.size());
        collect(session, now, name,
                {there(first, 5000), tensor(on_host, Dtype::kFloat32, Io::kInput), there(second, 1000, 1, side)});
        collect(session, now, "host" + std::to_string(i), {tensor(on_host, Dtype::kFloat32)});
        const Bytes junk(one.size(), std::byte{0x41});
        gpu.write(0, nullptr, first.pointer(), junk.data(), junk.size());
        gpu.write(0, side, second.pointer(), junk.data(), other.size());
      }
      session.step_end(now);
      if (step == 1) {
        session.flush();
        waits = gpu.waits();
        held = gpu.held();
      }
    }
    if (ordered) {
      // A step that begins while all memory is in use takes more: two allocations for two buffers and two events.
      EXPECT_EQ(gpu.waits() - waits, (gpu.held() - held) / 2);
      EXPECT_EQ(session.counters().stall_count, 0u);
    }
    EXPECT_TRUE(session.close());
    EXPECT_EQ(said, std::vector<std::string>{});
    EXPECT_EQ(session.counters().lost_tensor_count, 0u);
    EXPECT_GE(session.counters().device_row_count, static_cast<std::uint64_t>(kSteps * kOperators * 2));
    found.push_back(texts(run, kSteps));
  }
  EXPECT_EQ(found[0].size(), static_cast<std::size_t>(kSteps * kOperators * 4));
  EXPECT_EQ(found[0], found[1]);
}

TEST_F(SessionGpuBoard, WhatCannotGoThatWayIsMeasuredAtOnceAndSaid) {
  const Bytes values = floats(1000);
  const OnGpu memory(gpu, values);
  {
    auto session = open(R"({"statistic_category": ["max", "md5"]})", kAsynchronous);
    collect(session, {}, "digest", {there(memory, 1000)});
    session.step_end({});
    EXPECT_TRUE(session.close());
    EXPECT_EQ(rows("rank_0/Net/0/0/statistic.csv").size(), 1u);
    EXPECT_EQ(session.counters().stall_count, 1u);
  }
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("collect() waits for tensors in device memory, in spite of ordered_by_queue: digests"),
            std::string::npos)
      << said[0];
}

TEST_F(SessionGpuBoard, ALostKernelCostsItsRowAlone) {
  const Bytes values = floats(1000);
  const OnGpu memory(gpu, values);
  auto session = open(kStatistics, kAsynchronous);
  collect(session, {}, "first", {there(memory, 1000)});  // makes the kernel
  gpu.lose_launch(2);
  for (int i = 0; i < 3; ++i) collect(session, {}, "op" + std::to_string(i), {there(memory, 1000)});
  session.step_end({});
  session.close();
  gpu.lose_launch(0);
  std::vector<std::string> names;
  for (const Row& row : rows("rank_0/Net/0/0/statistic.csv")) names.emplace_back(row.identity.op_name);
  EXPECT_EQ(names, (std::vector<std::string>{"first", "op0", "op2"}));
  EXPECT_EQ(session.counters().lost_tensor_count, 1u);
  ASSERT_FALSE(said.empty());
  EXPECT_NE(said[0].find("its row is missing"), std::string::npos) << said[0];
}

}  // namespace session_gpu_board_test
}  // namespace tensorstat
