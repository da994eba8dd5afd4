// Rules R7 to R9 of stats/doc/origin.md: faults that end, and what changes between the steps.
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

// Without a zoom the rows do not tell a mask, of which the loss made NaN, from an overflow.
TEST(OriginEndsAndSteps, ANegativeInfOfOwnCodeMayBeAMask) {
  const std::string rows = kCode + std::string(R"(
    Net Net/forward i0 ok
    Linear a/forward i0 ok
    Linear a/forward o0 ok
    Net Net/forward o0 -inf
    Loss loss o0 nan)");
  const Answer answer = ask(rows);
  EXPECT_EQ(told(answer.verdict), "unknown, forward, Net/forward, 0, 0");
  EXPECT_TRUE(says(answer, "may have computed the -Inf, or written it as a mask is written"));
  EXPECT_TRUE(says(answer, "zoom=True"));
  const std::string zoom =
      R"({"kind": "zoom", "iteration": 0, "op_name": "Net/forward", "result": "found", "file": "m.py", "line": 3, "operation": ")";
  EXPECT_EQ(ask_who(zoom + "log\"}\n" + rows), "produced, forward, Net/forward, 0, 0");
  EXPECT_EQ(ask_who(zoom + "masked_fill\", \"inf_written\": true}\n" + rows).substr(0, 4), "loss");
}

TEST(OriginEndsAndSteps, AnInfThatIsAssignedIsAMask) {
  const std::string zoom =
      R"({"kind": "zoom", "iteration": 0, "op_name": "Net/forward", "result": "found", "operation": "index_put", )";
  const std::string rows = "Net Net/forward i0 ok\n Linear head/forward o0 ok\n Net Net/forward o0 -inf\n";
  EXPECT_EQ(ask_who(zoom + "\"inf_written\": true}\n" + rows + "Loss loss o0 inf"), "loss, loss, loss, 0, 0");
  EXPECT_EQ(ask_who(zoom + "\"inf_written\": false}\n" + rows + "Loss loss o0 inf"),
            "produced, forward, Net/forward, 0, 0");
  // The call is run again once, in an iteration in which the loss is clean.
  EXPECT_EQ(ask_who(zoom + "\"inf_written\": true}\n" + rows + "Loss loss o0 ok\n@1\n" + rows + "Loss loss o0 inf"),
            "loss, loss, loss, 1, 0");
}

// A call is run again once. In an evaluation nothing else says that a mask's Inf is none.
TEST(OriginEndsAndSteps, AMaskOfAnEarlierIterationIsOneAgain) {
  const std::string zoom =
      R"({"kind": "zoom", "iteration": 0, "op_name": "Net/eval", "result": "found", "operation": ")";
  const std::string rows = "Net Net/eval i0 ok\n Linear head/eval o0 ok\n Net Net/eval o0 -inf\n";
  EXPECT_EQ(ask_who(zoom + "masked_fill\", \"inf_written\": true}\n" + rows + "@7\n" + rows), "none");
  EXPECT_EQ(ask_who(zoom + "log\"}\n" + rows), "produced, forward, Net/eval, 0, 0");
  EXPECT_EQ(
      ask_who(zoom + "masked_fill\", \"inf_written\": true}\n" + rows + "@7\nNet Net/eval i0 ok\n Net Net/eval o0 inf"),
      "produced, forward, Net/eval, 7, 0");
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
  EXPECT_TRUE(
      says(answer, "a (Log) gave Inf in the forward: it was cut off at b (Cut), and came back in backward (0 * Inf)"));
}

// The code of Net cut off what a module in it made. No input of another module has a row.
TEST(OriginEndsAndSteps, ACallThatContainsTheMakerCutItOffInside) {
  const std::string forward = R"(
    Net Net/forward i0 ok
    Log a/forward o0 nan
    Net Net/forward o0 ok
    Loss loss o0 ok
)";
  EXPECT_TRUE(says(ask(forward), "NaN of a (Log) ended inside Net: iteration 0"));
  const Answer answer = ask(forward + R"(
    Net Net/backward i0 ok
    Log a/backward i0 ok
    Log a/backward o0 nan)");
  EXPECT_EQ(told(answer.verdict), "unknown, forward, a/forward, 0, 0");
  EXPECT_TRUE(says(answer, "it was cut off inside Net, and came back in the backward of a (Log) (0 * NaN)"));
}

// 0 * NaN: what the forward cut off is in the backward of all that was given it.
TEST(OriginEndsAndSteps, R7cCutOffAtTheLossAndBackInAnother) {
  const std::string forward = R"(
    Net Net/forward i0 ok
    Unit a/forward i0 ok
    Unit a/forward o0 nan
    Linear b/forward i0 nan
    Linear b/forward o0 nan
    Net Net/forward o0 nan
    Loss loss o0 ok
)";
  const std::string of_linear = "Net Net/backward i0 ok\n Linear b/backward i0 ok\n";
  const Answer answer = ask(forward + of_linear + "Gradient b.weight i0 nan\n");
  EXPECT_EQ(told(answer.verdict), "produced, forward, a/forward, 0, 0");
  EXPECT_EQ(answer.verdict.rule, std::string("R7c"));
  EXPECT_TRUE(says(answer, "cut off at loss (Loss), and came back in the backward of b (Linear) (0 * NaN)"));
  EXPECT_EQ(ask_who(forward + of_linear + "Linear b/backward o0 nan\n"), "produced, forward, a/forward, 0, 0");
  EXPECT_EQ(ask_who(forward + "Net Net/backward i0 nan\n"), "produced, forward, a/forward, 0, 0");
  // A scaler's skipped step does not excuse a fault of the forward.
  EXPECT_EQ(ask_who(R"({"kind": "step", "iteration": 0, "written": 0, "parameter_count": 2})"
                    "\n" +
                    forward + of_linear + "Gradient b.weight i0 nan\n"),
            "produced, forward, a/forward, 0, 0");
  // A gradient that is Inf is not 0 * NaN, a module that was not given the NaN made its own, and the same NaN did no
  // harm in the iteration before.
  EXPECT_EQ(ask_who(forward + of_linear + "Gradient b.weight i0 inf\n"), "produced, backward, b/backward, 0, 0");
  EXPECT_EQ(ask_who(forward + "Net Net/backward i0 ok\n Linear c/backward i0 ok\n Linear c/backward o0 nan\n"),
            "produced, backward, c/backward, 0, 0");
  EXPECT_EQ(ask_who(forward + of_linear + "Linear b/backward o0 ok\n@1\n" + forward + of_linear +
                    "Linear b/backward o0 nan\n"),
            "produced, backward, b/backward, 1, 0");
}

TEST(OriginEndsAndSteps, R7cTheLossMadeItWhereNoResultHeldIt) {
  EXPECT_EQ(ask_who(R"(
    Net Net/forward i0 ok
    Unit a/forward i0 ok
    Unit a/forward o0 nan
    Cut b/forward i0 nan
    Cut b/forward o0 ok
    Net Net/forward o0 ok
    Loss loss o0 ok
    Net Net/backward i0 nan
)"),
            "loss, backward, loss, 0, 0");
}

// A written Inf in the results is clean until the loss makes NaN or Inf of it.
TEST(OriginEndsAndSteps, R7wTheLossMadeItOfAWrittenInf) {
  const std::string forward = R"(
    {"kind": "zoom", "iteration": 0, "op_name": "Net/forward", "result": "found", "operation": "masked_fill", "file": "m.py", "line": 3}
    Net Net/forward i0 ok
    Linear a/forward o0 ok
    Net Net/forward o0 -inf
)";
  const Answer inf = ask(forward + "Loss loss o0 inf");
  EXPECT_EQ(told(inf.verdict), "loss, loss, loss, 0, 0");
  EXPECT_TRUE(says(inf, "The loss is Inf: what follows the model made it of the Inf that Net wrote"));
  EXPECT_TRUE(says(inf, "masked_fill at m.py:3 wrote the Inf, which is no fault"));
  EXPECT_TRUE(inf.notes.empty());
  EXPECT_EQ(ask_who(forward + "Loss loss o0 nan"), "loss, loss, loss, 0, 0");
  EXPECT_EQ(ask_who(forward + "Loss loss o0 ok\n Net Net/backward i0 nan"), "loss, backward, loss, 0, 0");
  EXPECT_EQ(ask_who(forward + "Loss loss o0 ok\n Net Net/backward i0 ok"), "none");
  // Operations of the loss: log_softmax passes -Inf on, and mul makes NaN of it.
  EXPECT_EQ(ask_who(forward + R"(
    log_softmax loss/log_softmax.0/forward i0 -inf
    log_softmax loss/log_softmax.0/forward o0 -inf
    mul loss/mul.0/forward i0 -inf
    mul loss/mul.0/forward o0 nan
    Loss loss o0 nan)"),
            "loss, loss, loss/mul.0/forward, 0, 0");
  // One that was computed is the model's.
  EXPECT_EQ(ask_who("Net Net/forward i0 ok\n Linear a/forward i0 ok\n Linear a/forward o0 -inf\n Net Net/forward o0 "
                    "-inf\n Loss loss o0 nan"),
            "produced, forward, a/forward, 0, 0");
}

// With rows of operations, a second fault in the loss does not hide the first, which the loss was given, too.
TEST(OriginEndsAndSteps, AFaultOfTheLossDoesNotHideTheModels) {
  const std::string model = R"(
    Net Net/forward i0 ok
    exp Net/exp.0/forward i0 ok
    exp Net/exp.0/forward o0 inf
    Net Net/forward o0 inf
    Net Net/forward o1 ok
)";
  const std::string pow = "pow loss/pow.0/forward i0 inf\n pow loss/pow.0/forward o0 inf\n";
  const std::string exp = "exp loss/exp.0/forward i0 ok\n exp loss/exp.0/forward o0 inf\n";
  EXPECT_EQ(ask_who(model + pow + exp + "Loss loss o0 inf"), "produced, forward, Net/exp.0/forward, 0, 0");
  EXPECT_EQ(ask_who(model + exp + pow + "Loss loss o0 inf"), "produced, forward, Net/exp.0/forward, 0, 0");
  EXPECT_EQ(
      ask_who(model + pow + exp + "exp loss/exp.0/backward i0 ok\n exp loss/exp.0/backward o0 nan\n Loss loss o0 inf"),
      "produced, forward, Net/exp.0/forward, 0, 0");
  EXPECT_EQ(ask_who(model + exp + "Loss loss o0 inf"), "loss, loss, loss/exp.0/forward, 0, 0");
}

// A loss of an iteration that only evaluates is the evaluation's.
TEST(OriginEndsAndSteps, TheLossOfAnEvaluation) {
  EXPECT_EQ(ask_who(R"(
    {"kind": "zoom", "iteration": 4, "op_name": "norm/eval", "result": "given", "why": "the buffer running_var holds the fault", "parameter": "norm.running_var"}
    @3
    Net Net/forward i0 ok
    Net Net/forward o0 ok
    Net Net/backward i0 ok
    Loss loss o0 ok
    @4
    Net Net/eval i0 ok
    Norm norm/eval o0 nan
    Net Net/eval o0 nan
    Loss loss o0 nan)"),
            "parameter, parameter, norm.running_var, 4, 0");
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

TEST(OriginEndsAndSteps, R7oAnOverflowThatWasCutOffIsTheVerdictOfARunWithoutAnother) {
  const std::string zoom =
      R"({"kind": "zoom", "iteration": 0, "op_name": "a.wo/forward", "result": "found", "operation": "linear", )"
      R"("inside": "a.wo", "file": "t5.py", "line": 89, "inf_written": false})"
      "\n"
      R"({"kind": "cut_off", "iteration": 0, "op_name": "a.wo/forward", "by": "a/forward", "operation": "clamp", )"
      R"("file": "t5.py", "line": 479})"
      "\n";
  const std::string rows =
      "@0\n Net Net/forward i0 ok\n Block a/forward i0 ok\n Linear a.wo/forward o0 inf\n Block a/forward o0 ok\n "
      "Net Net/forward o0 ok\n Loss loss o0 ok\n";
  EXPECT_EQ(ask_who(rows), "none");
  const Answer told_off = ask(zoom + rows);
  EXPECT_EQ(told(told_off.verdict), "produced, forward, a.wo/forward, 0, 0");
  EXPECT_EQ(certainty_of(told_off.verdict), "likely");
  EXPECT_TRUE(says(told_off, "clamp at t5.py:479 cut the Inf off, in a"));
  EXPECT_EQ(ask_who(zoom + rows, {.nan_only = true}), "none");
  EXPECT_EQ(ask_who(zoom + rows + "@1\n Net Net/forward i0 nan\n"), "entered, input, Net/forward, 1, 0");
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

TEST(OriginEndsAndSteps, R8sAStepThatCheckToldIsNotExcused) {
  const std::string rows = R"(
    Net Net/forward i0 ok
    Net Net/forward o0 ok
    Net Net/backward i0 ok
    Linear a/backward i0 ok
    Linear a/backward o0 nan
    Gradient a.weight i0 nan
    Loss loss o0 ok)";
  const std::string skipped = R"({"kind": "step", "iteration": 0, "written": 0, "parameter_count": 2})"
                              "\n";
  const auto told_by_check = [](const std::string& more) {
    return R"({"kind": "check", "iteration": 0, "rank": 0, "skipped": false)" + more + "}\n";
  };
  const Answer answer = ask(told_by_check("") + skipped + rows);
  EXPECT_EQ(told(answer.verdict), "produced, backward, a/backward, 0, 0");
  EXPECT_TRUE(says(answer, "check() of the watch told it, and the optimizer wrote nothing: the step was skipped"));
  EXPECT_EQ(ask(told_by_check("") + rows).verdict.was_skipped, false);  // the optimizer took it
  // A scaler that is there may have skipped it.
  EXPECT_EQ(ask_who(told_by_check(R"(, "scaler": true)") + skipped + rows), "none");
  EXPECT_EQ(ask_who(skipped + rows), "none");
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

// A float16 output that grew by 1.2 a step from 10,000 on, and is Inf in iteration 11.
Rows growing(bool has_inputs) {
  Rows run("");
  std::uint64_t time = 0;
  for (std::uint64_t iteration = 0; iteration < 12; ++iteration) {
    for (const bool is_input : {true, false}) {
      if (is_input && !has_inputs) continue;
      Row row = Rows::row_of("Linear", "a/forward", is_input, 0, ++time, iteration == 11 && !is_input ? "inf" : "ok");
      row.data_type = "float16";
      if (iteration < 11 && !is_input)
        row.statistics.values[0] = 10'000 * std::pow(1.2, static_cast<double>(iteration));
      run.record.add(row, {.name = "a/forward", .iteration = iteration});
    }
  }
  run.record.sort();
  return run;
}

TEST(OriginEndsAndSteps, GrowthIsTheReasonOfAnOverflow) {
  Rows run = growing(true);
  const Answer answer = answer_of(run.record, run.hints, {});
  EXPECT_EQ(told(answer.verdict), "produced, forward, a/forward, 11, 0");
  EXPECT_EQ(certainty_of(answer.verdict), "sure");
  EXPECT_TRUE(
      says(answer,
           "absmax grew 1.2 times a step from iteration 0 on, was 61917.4 in iteration 10, and passed 65504, the "
           "most of float16"));
}

// "Not known" is the last word: without its inputs, the growth says what it likely is.
TEST(OriginEndsAndSteps, GrowthWithoutInputsIsLikelyAnOverflow) {
  Rows run = growing(false);
  const Answer answer = answer_of(run.record, run.hints, {});
  EXPECT_EQ(told(answer.verdict), "produced, forward, a/forward, 11, 0");
  EXPECT_EQ(certainty_of(answer.verdict), "likely");
  EXPECT_TRUE(says(answer, "Likely: overflow of float16 in a (Linear), forward, iteration 11 (10 was clean)"));
  EXPECT_TRUE(says(answer, "absmax grew 1.2 times a step from iteration 0 on"));
  EXPECT_TRUE(says(answer, "watch(model, inputs=True) would tell"));
}

TEST(OriginEndsAndSteps, AnOverflowStaysOneIfTheLossMakesNanOfIt) {
  Rows run = growing(false);
  Row loss = Rows::row_of("Loss", "loss", false, 0, 100, "nan");
  run.record.add(loss, {.name = "loss", .iteration = 11});
  run.record.sort();
  const Answer answer = answer_of(run.record, run.hints, {});
  EXPECT_EQ(told(answer.verdict), "produced, forward, a/forward, 11, 0");
  EXPECT_EQ(certainty_of(answer.verdict), "likely");
}

}  // namespace origin_ends_and_steps_test
}  // namespace tensorstat::test
