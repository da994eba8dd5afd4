// Rules R7 to R10 of stats/doc/origin.md: faults that end, what changes between the steps, and the first of several
// ranks.
#include <gtest/gtest.h>

#include "tests/support/origin_answers.hpp"

namespace tensorstat::test {
namespace origin_ends_and_steps_test {

TEST(OriginEndsAndSteps, R7AFaultThatEndsIsANoteAndTaintsNothing) {
  const std::string rows = R"(
    Sequential Sequential/forward i0 ok
    Linear 0/forward o0 ok
    Mask 1/forward o0 -inf
    Softmax 2/forward i0 -inf
    Softmax 2/forward o0 ok
    Linear 3/forward o0 ok
)";
  const Answer clean = ask(rows + "Sequential Sequential/forward o0 ok");
  EXPECT_EQ(told(clean.verdict), "none");
  EXPECT_TRUE(says(clean, "Inf of 1 (Mask) ended at 2 (Softmax): iteration 0"));
  EXPECT_EQ(ask_who(rows + "Sequential Sequential/forward o0 ok", {.ended_inf = true}),
            "produced, forward, 1/forward, 0, 0");
  const Answer later = ask(rows + "Log 4/forward o0 nan\n Sequential Sequential/forward o0 nan");
  EXPECT_EQ(told(later.verdict), "produced, forward, 4/forward, 0, 0");
  EXPECT_TRUE(says(later, "ended at 2 (Softmax)"));
}

TEST(OriginEndsAndSteps, R7NanEndsToo) {
  const Answer answer =
      ask("Net Net/forward i0 ok\n Log a/forward o0 nan\n Where b/forward i0 nan\n Where b/forward o0 ok\n Net "
          "Net/forward o0 ok");
  EXPECT_EQ(told(answer.verdict), "none");
  EXPECT_TRUE(says(answer, "NaN of a (Log) ended at b (Where)"));
}

TEST(OriginEndsAndSteps, R7EndsWhereTheParentIsClean) {
  EXPECT_EQ(
      ask_who("Net Net/forward i0 ok\n Mask mask/forward i0 ok\n Mask mask/forward o0 -inf\n Net Net/forward o0 ok"),
      "none");
}

TEST(OriginEndsAndSteps, R7EndsBeforeTheLoss) {
  const std::string rows = "Net Net/forward i0 ok\n Net Net/forward o0 -inf\n";
  EXPECT_EQ(ask_who(rows), "produced, forward, Net/forward, 0, 0");  // nothing says that it ended
  EXPECT_EQ(ask_who(rows + "Loss loss o0 ok"), "none");
  // The gradients of what was cut off are clean, and the loss is not.
  EXPECT_EQ(ask_who(rows + "Net Net/backward i0 ok\n Loss loss o0 inf"), "produced, forward, Net/forward, 0, 0");
  EXPECT_EQ(ask_who(rows + "Net Net/backward i0 ok\n"), "none");
  EXPECT_EQ(ask_who(rows + "Net Net/backward i0 nan\n Gradient a.weight i0 nan\n"),
            "produced, forward, Net/forward, 0, 0");
}

TEST(OriginEndsAndSteps, R7bAnotherWay) {
  const Answer answer = ask(std::string(kCode) + R"(
    Net Net/forward i0 ok
    Exp a/forward i0 ok
    Exp a/forward o0 inf
    Sigmoid b/forward i0 inf
    Sigmoid b/forward o0 ok
    Net Net/forward o0 nan)");
  EXPECT_EQ(told(answer.verdict), "produced, forward, a/forward, 0, 0");
  EXPECT_TRUE(says(answer, "used another way"));
}

TEST(OriginEndsAndSteps, R7cCutOffAndBackAgain) {
  const Answer answer = ask(R"(
    Net Net/forward i0 ok
    Log a/forward o0 -inf
    Cut b/forward i0 -inf
    Cut b/forward o0 ok
    Net Net/forward o0 ok
    Loss loss o0 ok
    Net Net/backward i0 ok
    Cut b/backward i0 ok
    Cut b/backward o0 ok
    Log a/backward i0 ok
    Log a/backward o0 nan)");
  EXPECT_EQ(told(answer.verdict), "produced, backward, a/backward, 0, 0");
  EXPECT_TRUE(says(answer, "it was cut off at b (Cut), and came back in backward"));
}

TEST(OriginEndsAndSteps, R7wWrittenOrComputed) {
  const auto rows = [](const std::string& maker, const std::string& holds) {
    return "Net Net/forward i0 ok\n " + maker + " a/forward i0 ok\n " + maker + " a/forward o0 " + holds +
           "\n Softmax b/forward i0 " + holds + "\n Softmax b/forward o0 nan\n Net Net/forward o0 nan\n";
  };
  // An Inf that a mask wrote is meant; who makes NaN of it is not.
  const Answer written = ask(rows("CausalMask", "-inf"));
  EXPECT_EQ(told(written.verdict), "produced, forward, b/forward, 0, 0");
  EXPECT_TRUE(says(written, "made of the Inf that a (CausalMask) wrote"));
  const Answer computed = ask(rows("Exp", "inf"));
  EXPECT_EQ(told(computed.verdict), "produced, forward, a/forward, 0, 0");
  EXPECT_TRUE(says(computed, "b (Softmax) made NaN of that Inf"));
  // The model was run again, because b was given the Inf.
  const std::string zoom =
      R"({"kind": "zoom", "iteration": 0, "op_name": "b/forward", "result": "given"})"
      "\n"
      R"({"kind": "zoom", "iteration": 0, "op_name": "Net/forward", "result": "found", "operation": "softmax", )"
      R"("inside": "b", "inf_written": )";
  EXPECT_EQ(ask_who(zoom + "true}\n" + rows("Act", "-inf")), "produced, forward, b/forward, 0, 0");
  EXPECT_EQ(ask_who(zoom + "false}\n" + rows("Mask", "-inf")), "produced, forward, a/forward, 0, 0");
}

TEST(OriginEndsAndSteps, R8TheGradientWasChangedBeforeTheStep) {
  const std::string rows = R"(
    Parameter a.weight i0 ok
    Net Net/forward i0 ok
    Net Net/forward o0 ok
    Net Net/backward i0 ok
    Gradient a.weight i0 ok
    Gradient b.weight i0 ok
    Gradient a.weight o0 inf
    Parameter a.weight o0 nan)";
  const Answer answer = ask(rows);
  EXPECT_EQ(told(answer.verdict), "gradient, gradient, a.weight, 0, 0");
  EXPECT_TRUE(says(answer, "was finite when backward made it"));
  const Answer of_several = ask(R"({"kind": "run", "world_size": 2})" + rows);
  EXPECT_EQ(told(of_several.verdict), "unknown, gradient, a.weight, 0, 0");
  EXPECT_TRUE(says(of_several, "received from a rank whose rows are not here, or changed"));
}

TEST(OriginEndsAndSteps, R8sAStepThatAScalerSkippedIsANote) {
  const auto step = [](int iteration, const std::string& what) {
    return "@" + std::to_string(iteration) +
           "\n Net Net/forward i0 ok\n Net Net/forward o0 ok\n Net Net/backward i0 ok\n Linear a/backward i0 " + what +
           "\n Gradient a.weight i0 " + what + "\n Gradient a.weight o0 " + what + "\n";
  };
  const std::string skipped = R"({"kind": "step", "iteration": 0, "written": 0, "parameter_count": 2})"
                              "\n"
                              R"({"kind": "step", "iteration": 1, "written": 0, "parameter_count": 2})"
                              "\n";
  const Answer answer = ask(skipped + step(0, "inf") + step(1, "inf") + step(2, "ok"));
  EXPECT_EQ(told(answer.verdict), "none");
  EXPECT_TRUE(
      says(answer, "2 steps were skipped (gradients with NaN or Inf, and no parameter was written): iterations 0, 1"));
  EXPECT_NE(ask_who(step(0, "inf") + step(1, "ok")), "none");
  // A fault of the loss is not excused.
  EXPECT_EQ(
      ask_who(skipped + "Net Net/forward i0 ok\n Net Net/forward o0 ok\n Net Net/backward i0 nan\n Loss loss o0 nan"),
      "loss, loss, loss, 0, 0");
}

TEST(OriginEndsAndSteps, R9TheOptimizerWroteIt) {
  const std::string rows = R"(
    Net Net/forward i0 ok
    Net Net/forward o0 ok
    Gradient a.weight i0 ok
    Parameter a.weight o0 inf)";
  EXPECT_EQ(ask_who("Parameter a.weight i0 ok\n" + rows), "optimizer, optimizer, a.weight, 0, 0");
  EXPECT_EQ(ask(rows).verdict.kind, FaultKind::kUnknown);  // what it was before is not known
  EXPECT_EQ(ask_who("Parameter a.weight i0 ok\n Gradient a.weight i0 ok\n OptimizerState a.weight/exp_avg o0 nan"),
            "optimizer, optimizer, a.weight/exp_avg, 0, 0");
}

TEST(OriginEndsAndSteps, R10OneRankHadItAndTheOthersReceivedIt) {
  const auto rank = [](int number, const std::string& local) {
    return "#" + std::to_string(number) +
           "\n Parameter a.weight i0 ok\n Net Net/forward i0 ok\n Net Net/forward o0 ok\n Net Net/backward i0 ok\n "
           "Bad a/backward i0 ok\n Gradient a.weight i0 " +
           local + "\n Gradient a.weight o0 nan\n Parameter a.weight o0 nan\n";
  };
  const Answer answer = ask(rank(0, "ok") + rank(1, "nan"));
  EXPECT_EQ(told(answer.verdict), "produced, backward, a/backward, 0, 1");
  EXPECT_TRUE(says(answer, "rank 0 has it, too, received"));
}

TEST(OriginEndsAndSteps, IterationsComeBeforeNames) {
  EXPECT_EQ(ask_who("@2\n Net Net/forward i0 nan\n @10\n Net Net/forward i0 nan\n #1\n @1\n Net Net/forward i0 ok\n "
                    "Log a/forward i0 ok\n Log a/forward o0 nan"),
            "produced, forward, a/forward, 1, 1");
}

TEST(OriginEndsAndSteps, WhatACheckpointRunsAgainSaysNothingNew) {
  EXPECT_EQ(ask_who(std::string(kCode) + R"(
    Net Net/forward i0 ok
    Linear a/forward o0 ok
    Net Net/forward o0 ok
    Net Net/backward i0 ok
    Linear a/forward o0 nan
    Loss loss o0 ok)"),
            "none");
}

TEST(OriginEndsAndSteps, GrowthIsTheReasonOfAnOverflow) {
  Rows run("");
  std::uint64_t time = 0;
  for (std::uint64_t iteration = 0; iteration < 12; ++iteration) {
    for (const bool is_input : {true, false}) {
      Row row = Rows::row_of("Linear", "a/forward", is_input, 0, ++time, iteration == 11 && !is_input ? "inf" : "ok");
      row.data_type = "float16";
      if (iteration < 11 && !is_input)
        row.statistics.values[0] = 10'000 * std::pow(1.2, static_cast<double>(iteration));
      run.record.add(row, {.name = "a/forward", .iteration = iteration});
    }
  }
  run.record.sort();
  const Answer answer = answer_of(run.record, run.hints, {});
  EXPECT_EQ(told(answer.verdict), "produced, forward, a/forward, 11, 0");
  EXPECT_TRUE(says(answer,
                   "absmax grew 1.2 x a step from iteration 0 on, was 61917.4 in iteration 10, and passed 65504, the "
                   "most of float16"));
}

}  // namespace origin_ends_and_steps_test
}  // namespace tensorstat::test
