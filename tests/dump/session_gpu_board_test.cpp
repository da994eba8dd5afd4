// With DumpOptions::ordered_by_queue, collect() of tensors in CUDA's memory enqueues and returns, and the rows are
// those of a session that waits: the same bits in the same order. The driver is a double, whose streams run nothing
// until they are waited for.
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <memory>

#include "tests/dump/session_on_gpu.hpp"

namespace tensorstat {
namespace session_gpu_board_test {

using test::Bytes;
using test::OnGpu;

class SessionGpuBoard : public test::SessionOnGpu {
 protected:
  static DumpTensor there(const OnGpu& memory, std::uint64_t count, std::uint32_t slot = 0, void* stream = nullptr) {
    return SessionOnGpu::there(memory, count, slot, stream);
  }
  Bytes floats(std::uint64_t count) { return samples::one_of(Dtype::kFloat32, 0, count, random); }

  std::vector<std::string> texts(const std::string& run, int steps) const {
    std::vector<std::string> all;
    for (int step = 0; step < steps; ++step) {
      for (const std::string& text : SessionOnGpu::texts(run, static_cast<std::uint64_t>(step)))
        all.push_back(std::to_string(step) + " " + text);
    }
    return all;
  }

  const std::string kAsynchronous = R"({"enable": false})";  // step_end() does not wait for the files
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
  std::vector<std::vector<std::string>> runs;
  for (const bool ordered : {true, false}) {
    options.ordered_by_queue = ordered;
    const std::string run = ordered ? "ordered" : "waits";
    options.path = folder / run;
    auto session = open(kStatistics, kAsynchronous);
    long waits = 0, allocations = 0;
    for (int step = 0; step < kSteps; ++step) {
      const DumpPlace now{.iteration = static_cast<std::uint64_t>(step)};
      for (int i = 0; i < kOperators; ++i) {
        const std::string name = "op" + std::to_string(i);
        const auto index = static_cast<std::size_t>(2 * i);
        const Bytes &one = contents[static_cast<std::size_t>(step)][index],
                    &other = contents[static_cast<std::size_t>(step)][index + 1];
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
        allocations = gpu.held();
      }
    }
    if (ordered) {
      // A step that begins while all memory is in use takes more: two allocations for two buffers and two events.
      EXPECT_EQ(gpu.waits() - waits, (gpu.held() - allocations) / 2);
      EXPECT_EQ(session.counters().stall_count, 0u);
    }
    EXPECT_TRUE(session.close());
    EXPECT_EQ(messages, std::vector<std::string>{});
    EXPECT_EQ(session.counters().lost_tensor_count, 0u);
    EXPECT_GE(session.counters().device_row_count, static_cast<std::uint64_t>(kSteps * kOperators * 2));
    runs.push_back(texts(run, kSteps));
  }
  EXPECT_EQ(runs[0].size(), static_cast<std::size_t>(kSteps * kOperators * 4));
  EXPECT_EQ(runs[0], runs[1]);
}

// The configs have `enable`, and the sessions a rule. Both make step_end() wait otherwise.
TEST_F(SessionGpuBoard, WithSettlesLaterNoStepWaitsAndFaultsAndAlertsComeByTheirNumbers) {
  constexpr std::uint64_t kSteps = 5, kOperators = 3;
  test::plant(Dtype::kFloat32,
              {Category::kMax, Category::kMin, Category::kAvg, Category::kL2norm, Category::kNanCount});
  options.settles_later = true;
  std::vector<std::string> alerts;
  options.alerts.rules = "nan count > 0";
  options.alerts.on_alert = [&](const Alert& alert) {
    alerts.push_back(std::to_string(alert.step) + " " + alert.op_name);
  };
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const std::vector<float> on_host{1, nan};
  const OnGpu memory(gpu, Bytes(16));
  auto session = open(R"({"statistic_category": ["max", "min", "avg", "l2norm"]})", R"({"enable": true})");
  std::map<std::uint64_t, std::uint32_t> told, expected;
  std::vector<std::string> expected_alerts;
  for (std::uint64_t step = 0; step < kSteps; ++step) {
    const DumpPlace now{.iteration = step};
    const long before = gpu.waits();
    for (std::uint64_t i = 0; i < kOperators; ++i) {
      const std::uint64_t number = 1 + step * kOperators + i;
      const bool has_nan = step == 3 && i == 1, has_inf = number % 4 == 0;
      const std::vector<float> values{1, has_nan ? nan : 2, has_inf ? -inf : 3, 4}, junk(4, nan);
      gpu.write(0, nullptr, memory.pointer(), values.data(), 16);
      DumpTensor tensor = there(memory, 4);
      std::uint32_t at_once = 0;
      tensor.faults = &at_once;
      tensor.number = number;
      collect(session, now, "op" + std::to_string(i), {tensor});
      EXPECT_EQ(at_once, 0u);
      gpu.write(0, nullptr, memory.pointer(), junk.data(), 16);
      expected[number] =
          DumpTensor::kMeasured | (has_nan ? DumpTensor::kHasNan : 0u) | (has_inf ? DumpTensor::kHasInf : 0u);
      if (has_nan) expected_alerts.push_back("3 op1");
    }
    if (step == 3) {  // between tensors of the GPU that are judged later
      DumpTensor host = this->tensor(on_host, Dtype::kFloat32);
      std::uint32_t at_once = 0;
      host.faults = &at_once;
      host.number = 1000;
      collect(session, now, "host", {host});
      EXPECT_EQ(at_once, DumpTensor::kMeasured | DumpTensor::kHasNan);
    }
    session.step_end(now);
    if (step >= 2) {
      EXPECT_EQ(gpu.waits(), before) << "in step " << step;
    }
    EXPECT_TRUE(step != 3 || alerts.empty());
    if (step == 0) continue;  // two steps are behind the first settle()
    for (const LateFaults& each : session.settle()) EXPECT_TRUE(told.emplace(each.number, each.faults).second);
    EXPECT_EQ(told.size(), (step + 1) * kOperators);
    EXPECT_EQ(rows("rank_0/Net/0/" + std::to_string(step) + "/statistic.csv").size(), kOperators + (step == 3 ? 1 : 0));
  }
  EXPECT_EQ(told, expected);
  EXPECT_EQ(alerts, expected_alerts);
  // A step that goes on is settled, and goes on.
  for (const std::uint64_t number : {2000u, 2001u}) {
    DumpTensor tensor = there(memory, 4);
    tensor.number = number;
    collect(session, {.iteration = kSteps}, "op0", {tensor});
    const auto late = session.settle(true);
    ASSERT_EQ(late.size(), 1u);
    EXPECT_EQ(late[0].number, number);
    EXPECT_EQ(late[0].faults, DumpTensor::kMeasured | DumpTensor::kHasNan);
    EXPECT_EQ(alerts.size(), 1u);  // the step's come when it has ended
  }
  session.step_end({.iteration = kSteps});
  EXPECT_TRUE(session.settle().empty());
  EXPECT_EQ(alerts.size(), 2u);
  // A lost tensor is told, and nothing is said of it.
  gpu.lose_launch(1);
  DumpTensor tensor = there(memory, 4);
  tensor.number = 3000;
  collect(session, {.iteration = kSteps + 1}, "op0", {tensor});
  session.step_end({.iteration = kSteps + 1});
  const auto lost = session.settle();
  gpu.lose_launch(0);
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_EQ(lost[0].faults, 0u);
  session.close();
  EXPECT_TRUE(session.settle().empty());
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
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_NE(messages[0].find("collect() waits for tensors in device memory, in spite of ordered_by_queue: digests"),
            std::string::npos)
      << messages[0];
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
  ASSERT_FALSE(messages.empty());
  EXPECT_NE(messages[0].find("its row is missing"), std::string::npos) << messages[0];
}

}  // namespace session_gpu_board_test
}  // namespace tensorstat
