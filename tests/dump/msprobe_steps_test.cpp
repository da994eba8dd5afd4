// The files of a step in msprobe's form: a complete one is never replaced by a part of it, one that grows keeps its
// calls, and what the disk does not take is written later.
#include "stats/job/dump/msprobe/closed_steps.hpp"
#include "tests/support/file_calls.hpp"
#include "tests/support/msprobe_session.hpp"

namespace tensorstat {
namespace msprobe_steps_test {

class MsprobeSteps : public MsprobeSessionTest {
 protected:
  ~MsprobeSteps() override { judge_file_call = nullptr; }
};

TEST_F(MsprobeSteps, AStepThat96OthersHaveFollowedIsComplete) {
  auto session = open();
  const std::string name = "Tensor.add.0.forward";
  for (std::uint64_t step = 0; step <= 96; ++step)
    collect(session, {.iteration = step}, name, {tensor(values, Dtype::kFloat32)});
  session.flush();
  messages.clear();
  collect(session, {.iteration = 0}, "Tensor.mul.0.forward", {tensor(values, Dtype::kFloat32)});
  collect(session, {.iteration = 1}, "Tensor.mul.0.forward", {tensor(values, Dtype::kFloat32)});
  session.close();
  EXPECT_EQ(keys(), Keys{name});
  EXPECT_EQ(keys("step1/rank0/dump.json"), (Keys{name, "Tensor.mul.0.forward"}));
  EXPECT_EQ(session.counters().lost_row_count, 1u);
  EXPECT_TRUE(std::ranges::any_of(
      messages, [](const std::string& words) { return words.find("after 96 further steps") != words.npos; }));
}

// After more steps than a session remembers by number.
TEST_F(MsprobeSteps, ACompleteFileIsNeverReplaced) {
  constexpr std::uint64_t kLast = 400;
  auto session = open(R"({"extra_info": false})");
  const std::string name = "Tensor.add.0.forward", late = "Tensor.mul.0.forward";
  for (std::uint64_t step = 0; step <= kLast; ++step) {
    collect(session, {.iteration = step}, name, {tensor(values, Dtype::kFloat32)});
  }
  session.flush();
  const std::uint64_t steps[] = {0, 1, kLast - 97, kLast - 96};
  for (const std::uint64_t step : steps) collect(session, {.iteration = step}, late, {tensor(values, Dtype::kFloat32)});
  session.close();
  for (const std::uint64_t step : steps) {
    EXPECT_EQ(keys("step" + std::to_string(step) + "/rank0/dump.json"), Keys{name}) << step;
  }
  EXPECT_EQ(session.counters().lost_row_count, std::size(steps));
  EXPECT_EQ(session.counters().row_count, kLast + 1);
  for (const std::string& words : messages) EXPECT_EQ(words.find("earlier run"), words.npos) << words;
}

// A session remembers the latest complete steps exactly, and older ones only as a range.
TEST(ClosedSteps, TheOldestAreForgottenFirst) {
  ClosedSteps steps(3);
  for (std::uint64_t step = 10; step < 16; ++step) steps.add(step % 2, step);
  for (const std::uint64_t step : {13, 14, 15}) EXPECT_TRUE(steps.has(step % 2, step)) << step;
  for (const std::uint64_t step : {10, 11, 12}) {
    EXPECT_FALSE(steps.has(step % 2, step)) << step;
    EXPECT_TRUE(steps.may_have_had(step % 2, step)) << step;
  }
  EXPECT_TRUE(steps.may_have_had(0, 11)) << "between two";
  EXPECT_FALSE(steps.may_have_had(0, 13));
  EXPECT_FALSE(steps.may_have_had(1, 10));
  EXPECT_FALSE(steps.may_have_had(2, 11));
  steps.add(1, 15);
  EXPECT_TRUE(steps.has(0, 14)) << "one that comes again takes no place of another";
}

TEST_F(MsprobeSteps, AnEarlierRunIsReplaced) {
  for (int run = 0; run < 2; ++run) {
    auto session = open();
    collect(session, {}, run == 0 ? "Tensor.a.0.forward" : "Tensor.b.0.forward", {tensor(values, Dtype::kFloat32)});
    session.close();
  }
  EXPECT_EQ(keys(), Keys{"Tensor.b.0.forward"});
  EXPECT_TRUE(was_said(": replaced; an earlier run wrote it"));
}

// The calls of a large step are not kept in memory: settled calls are copied from the old file to the new one.
TEST_F(MsprobeSteps, AFileGrowsByCallsThatAreWrittenAgain) {
  auto session = open();
  constexpr int kCalls = 5000;
  for (int call = 0; call < kCalls; ++call) {
    collect(session, {}, "Tensor.add." + std::to_string(call) + ".forward", {tensor(values, Dtype::kFloat32)});
    if (call % 700 == 0) {
      EXPECT_TRUE(session.flush());
    }
  }
  EXPECT_TRUE(session.step_end({}));
  const auto names = keys();
  ASSERT_EQ(names.size(), static_cast<std::size_t>(kCalls));
  for (int call = 0; call < kCalls; ++call) ASSERT_EQ(names[call], "Tensor.add." + std::to_string(call) + ".forward");
  collect(session, {}, "Tensor.late.0.forward", {tensor(values, Dtype::kFloat32)});
  EXPECT_TRUE(session.close()) << "another graph of the step, after its end";
  EXPECT_EQ(keys().size(), kCalls + 1u);
  EXPECT_EQ(session.counters().row_count, kCalls + 1u);
}

TEST_F(MsprobeSteps, WhatTheDiskDoesNotTakeWaits) {
  auto session = open(R"({"level": "mix"})");
  collect(session, {}, "Tensor.a.0.forward", {tensor(values, Dtype::kFloat32)});
  EXPECT_TRUE(session.step_end({}));
  judge_file_call = [](FileCall call) -> Verdict { return {.error = call == FileCall::kWrite ? ENOSPC : 0}; };
  collect(session, {}, "Tensor.b.0.forward", {tensor(values, Dtype::kFloat32)});
  EXPECT_FALSE(session.step_end({}));
  EXPECT_EQ(session.counters().row_count, 1u);
  EXPECT_EQ(session.counters().waiting_row_count, 1u);
  EXPECT_EQ(keys(), Keys{"Tensor.a.0.forward"}) << "as it was";
  judge_file_call = nullptr;
  EXPECT_TRUE(session.flush());
  EXPECT_EQ(keys(), (Keys{"Tensor.a.0.forward", "Tensor.b.0.forward"}));
  judge_file_call = [](FileCall call) -> Verdict { return {.error = call == FileCall::kWrite ? ENOSPC : 0}; };
  collect(session, {}, "Tensor.c.0.forward", {tensor(values, Dtype::kFloat32)});
  EXPECT_FALSE(session.close());
  judge_file_call = nullptr;
  EXPECT_EQ(session.counters().lost_row_count, 1u);
  EXPECT_EQ(session.counters().waiting_row_count, 0u);
  EXPECT_TRUE(was_said("1 tensor could not be written to dump.json and is lost"));
  EXPECT_TRUE(was_said("No space left on device; it is tried again"));
}

}  // namespace msprobe_steps_test
}  // namespace tensorstat
