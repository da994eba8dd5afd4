// Where NaN or Inf began is decided by ordered rules over calls. Rules R0 to R6 of stats/doc/origin.md, a test each,
// over rows as a watch of PyTorch leaves them. Where rows cannot tell, the answer is "unknown", with the reason.
#include <gtest/gtest.h>

#include <tuple>

#include "tests/support/origin_answers.hpp"

namespace tensorstat::test {
namespace origin_rules_test {

TEST(OriginRules, R0NothingIsWrong) {
  const Answer answer = ask("Net Net/forward i0 ok\n a a/forward o0 ok\n Net Net/forward o0 ok\n Loss loss o0 ok");
  EXPECT_EQ(answer.verdict.kind, FaultKind::kNone);
  EXPECT_TRUE(answer.notes.empty());
  EXPECT_TRUE(says(answer, "Nothing wrong: neither NaN nor Inf in 4 tensors"));
}

TEST(OriginRules, R0RowsThatCannotTell) {
  const auto ask_of = [](const std::vector<Value>& crcs, const std::vector<Value>& maxima) {
    Record record;
    for (std::size_t i = 0; i < crcs.size(); ++i) {
      Row row = Rows::row_of("Net", "Net/forward", i == 0, 0, i + 1, "ok");
      row.statistics = {{Category::kCrc32, Category::kMax}, {crcs[i], maxima[i]}};
      record.add(row, {.name = "Net/forward"});
    }
    record.sort();
    Hints hints;
    return answer_of(record, hints, {});
  };
  const Answer answer = ask_of({std::uint64_t{1}, std::uint64_t{2}}, {Value(), Value()});
  EXPECT_EQ(answer.verdict.kind, FaultKind::kNone);
  EXPECT_TRUE(answer.verdict.is_blind);
  EXPECT_TRUE(says(answer, "Not known: no row has a statistic that shows NaN or Inf"));
  const Answer half = ask_of({std::uint64_t{1}, std::uint64_t{2}}, {Value(), 1.5});
  EXPECT_FALSE(half.verdict.is_blind);
  EXPECT_TRUE(says(half, "Nothing wrong: neither NaN nor Inf in 2 tensors"));
}

TEST(OriginRules, R1AParameterWasWrongBeforeAnythingRan) {
  const Answer answer = ask(R"(
    Parameter a.weight i0 ok
    Parameter b.weight i0 nan
    Net Net/forward i0 ok
    Linear a/forward o0 ok
    Linear b/forward o0 nan
    Net Net/forward o0 nan)");
  EXPECT_EQ(told(answer.verdict), "parameter, parameter, b.weight, 0, 0");
  EXPECT_TRUE(says(answer, "The parameter b.weight holds 3 NaN of 8 values before anything ran, iteration 0"));
}

TEST(OriginRules, R1SeveralParametersWereWrong) {
  EXPECT_EQ(ask_who(R"(
    Parameter a.weight i0 nan
    Parameter b.0.weight i0 nan
    Net Net/forward i0 ok
    Linear a/forward i0 ok
    Linear a/forward o0 nan
    Sequential b/forward i0 ok
    Linear b.0/forward i0 ok
    Linear b.0/forward o0 nan
    Sequential b/forward o0 nan
    Net Net/forward o0 nan)"),
            "parameter, parameter, a.weight, 0, 0");
}

TEST(OriginRules, AModuleThatIsCalledLossIsNone) {
  const std::string rows = R"(
    Net Net/forward i0 ok
    Criterion loss/forward i0 ok
    Criterion loss/forward o0 nan
    Net Net/forward o0 nan
    Loss loss o0 nan)";
  EXPECT_EQ(ask_who(rows), "produced, forward, loss/forward, 0, 0");
  const std::string code =
      R"({"kind": "code", "iteration": 0, "op_name": "loss/log.0/forward", "file": "a.py", "line": 3, )";
  const std::string operation = R"(
    Net Net/forward i0 ok
    log loss/log.0/forward i0 ok
    log loss/log.0/forward o0 nan
    Criterion loss/forward o0 nan
    Net Net/forward o0 nan
    Loss loss o0 nan)";
  EXPECT_EQ(ask_who(code + R"("parent": "loss/forward"})" + operation), "produced, forward, loss/log.0/forward, 0, 0");
}

// One module that two others call has the name that it has in the first. watch.ndjson says for each call what is around
// it.
TEST(OriginRules, AModuleThatSeveralCallIsInsideOfTheOneThatCalledIt) {
  std::string code = R"({"kind": "run", "world_size": 1, "every": 1, "inputs": "all", "level": "module"})";
  for (const auto& [name, nth, parent] : {std::tuple("Net", "0", ""),
                                          {"a", "0", "Net/forward"},
                                          {"a.act", "0", "a/forward"},
                                          {"b", "0", "Net/forward"},
                                          {"a.act", "1", "b/forward"}}) {
    code += std::string("\n{\"kind\": \"code\", \"iteration\": 0, \"op_name\": \"") + name +
            "/forward\", \"file\": \"a.py\", \"line\": 3, \"call\": " + nth + ", \"parent\": \"" + parent + "\"}";
  }
  // What was given to `a`, to the first call of `act`, what `a` gave, and what was given to the second call.
  const auto forward = [&](const char* to_a, const char* first, const char* given, const char* second) {
    std::string rows = code + "\nNet Net/forward i0 ok\n";
    rows += std::string("Block a/forward i0 ") + to_a + "\nReLU a.act/forward i0 " + first +
            "\nReLU a.act/forward o0 " + first + "\nBlock a/forward o0 " + given + "\nBlock b/forward i0 " + given;
    return rows + "\nReLU a.act/forward i0 " + second + "\nReLU a.act/forward o0 " + second + "\nBlock b/forward o0 " +
           second + "\nNet Net/forward o0 " + second + "\nLoss loss o0 " + second + "\n";
  };
  EXPECT_EQ(ask_who("Parameter a.weight i0 nan\n" + forward("ok", "nan", "nan", "nan")),
            "parameter, parameter, a.weight, 0, 0");
  EXPECT_EQ(ask_who(forward("ok", "ok", "ok", "nan")), "produced, forward, b/forward, 0, 0");
  EXPECT_EQ(ask_who(forward("ok", "nan", "nan", "nan")), "produced, forward, a/forward, 0, 0");
  // Backward comes to the second call first.
  const std::string backward = R"(
    Net Net/backward i0 ok
    Block b/backward i0 ok
    ReLU a.act/backward i0 nan
    Block a/backward i0 nan
    ReLU a.act/backward i0 nan
    Gradient a.weight i0 nan)";
  EXPECT_EQ(ask_who(forward("ok", "ok", "ok", "ok") + backward), "produced, backward, b/backward, 0, 0");
}

// Second runs of the call and of what contains it were refused, but for the outermost one.
TEST(OriginRules, R3ASecondRunOfAModuleThreeLevelsAboveTells) {
  const std::string rows = R"(
    Net Net/forward i0 ok
    Linear a.b.c/forward o0 nan
    Block a.b/forward o0 nan
    Block a/forward o0 nan
    Net Net/forward o0 nan)";
  EXPECT_EQ(ask_who(rows), "unknown, forward, a.b.c/forward, 0, 0");
  std::string zooms;
  for (const char* module : {"a", "a.b", "a.b.c"}) {
    zooms += R"({"kind": "zoom", "iteration": 0, "op_name": ")" + std::string(module) +
             "/forward\", \"result\": \"refused\", \"why\": \"its arguments were written\"}\n";
  }
  zooms += R"({"kind": "zoom", "iteration": 0, "op_name": "Net/forward", "result": "found", "operation": "sqrt", )"
           R"("inside": "a.b.c", "file": "x.py", "line": 3})";
  const Answer answer = ask(zooms + rows);
  EXPECT_EQ(told(answer.verdict), "produced, forward, a.b.c/forward, 0, 0");
  EXPECT_TRUE(says(answer, "sqrt at x.py:3"));
}

// An unwatched part is an excuse.

TEST(OriginRules, AParameterThatWasNotWatchedIsAsSuspiciousAsItsModule) {
  const std::string run = R"({"kind": "run", "inputs": "all", "parameters": false, "holders": ["a"]})";
  const Answer answer = ask(run + R"(
    Net Net/forward i0 ok
    Linear a/forward i0 ok
    Linear a/forward o0 nan
    Net Net/forward o0 nan)");
  EXPECT_EQ(told(answer.verdict), "unknown, forward, a/forward, 0, 0");
  EXPECT_TRUE(says(answer, "parameters were not watched; watch(..., parameters=True) would tell"));
  EXPECT_EQ(answer.verdict.not_watched, (std::vector<std::string>{"parameters", "loss"}));
  EXPECT_EQ(ask_who(run + R"(
    Net Net/forward i0 ok
    ReLU b/forward i0 ok
    ReLU b/forward o0 nan
    Net Net/forward o0 nan)"),
            "produced, forward, b/forward, 0, 0");
}

TEST(OriginRules, AParameterThatHoldsItMayHaveBeenWrittenByTheStepBefore) {
  const std::string rows = R"(
    {"kind": "zoom", "iteration": 1, "op_name": "head/forward", "result": "given", "why": "the parameter weight holds the fault",
     "parameter": "table.weight"}
    Net Net/forward i0 ok
    Net Net/forward o0 ok
    @1
    Net Net/forward i0 ok
    Linear head/forward o0 nan
    Net Net/forward o0 nan)";
  std::string one_line = rows;
  one_line.replace(one_line.find("\n     \"parameter\""), 6, " ");
  EXPECT_EQ(ask_who(one_line), "parameter, parameter, table.weight, 1, 0");
  const Answer answer = ask(R"({"kind": "run", "parameters": false})" + one_line);
  EXPECT_EQ(told(answer.verdict), "unknown, forward, table.weight, 1, 0");
  EXPECT_TRUE(says(answer, "the parameter table.weight holds it"));
}

TEST(OriginRules, AnInfOfTheResultIsUnknownWhereNothingBehindItWasWatched) {
  const std::string rows = R"(
    Net Net/forward i0 ok
    Linear a/forward i0 ok
    Linear a/forward o0 -inf
    Net Net/forward o0 -inf)";
  EXPECT_EQ(ask_who(rows), "produced, forward, a/forward, 0, 0");
  const std::string run = R"({"kind": "run", "gradients": false})";
  EXPECT_EQ(ask_who(run + rows), "unknown, forward, a/forward, 0, 0");
  EXPECT_EQ(ask_who(run + rows + "\n Parameter a.weight o0 ok"), "none");
  EXPECT_EQ(ask_who(run + rows + "\n Parameter a.weight o0 nan"), "produced, forward, a/forward, 0, 0");
}

TEST(OriginRules, R7AnInfThatAMaskWroteIsNoFaultInAResult) {
  const std::string rows = R"(
    Net Net/forward i0 ok
    MaskedFill mask/forward i0 ok
    MaskedFill mask/forward o0 -inf
    Net Net/forward o0 -inf)";
  const Answer answer = ask(rows);
  EXPECT_EQ(told(answer.verdict), "none");
  EXPECT_TRUE(says(answer, "Inf of mask (MaskedFill) was written, as a mask is, and no NaN came of it: iteration 0"));
  EXPECT_EQ(ask_who(rows, {.ended_inf = true}), "produced, forward, mask/forward, 0, 0");
}

TEST(OriginRules, ANanOfAResultThatGotNoGradientMayBeUnused) {
  const std::string rows = R"(
    Net Net/forward i0 ok
    Linear a/forward i0 ok
    Linear a/forward o0 ok
    Log b/forward i0 ok
    Log b/forward o0 nan
    Net Net/forward o0 ok
    Net Net/forward o1 nan
    Net Net/backward i0 ok
    Linear a/backward i0 ok)";
  const Answer answer = ask(rows);
  EXPECT_EQ(told(answer.verdict), "unknown, forward, b/forward, 0, 0");
  EXPECT_TRUE(says(answer, "step(loss) would tell whether the loss used it"));
  EXPECT_EQ(ask_who(rows + "\n Net Net/backward i1 ok"), "produced, forward, b/forward, 0, 0");
}

TEST(OriginRules, TwoCallsWithNothingBetweenThemAreTwo) {
  EXPECT_EQ(ask_who(R"(
    Net Net/forward i0 ok
    Net Net/forward o0 ok
    Net Net/forward i0 nan
    Net Net/forward o0 nan)"),
            "entered, input, Net/forward, 0, 0");
}

TEST(OriginRules, R1AParameterThatTwoModulesShare) {
  EXPECT_EQ(ask_who(R"(
    Parameter table.weight i0 nan
    Net Net/forward i0 ok
    Embedding table/forward i0 ok
    Embedding table/forward o0 ok
    Linear head/forward i0 ok
    Linear head/forward o0 nan
    Net Net/forward o0 nan)"),
            "parameter, parameter, table.weight, 0, 0");
}

TEST(OriginRules, R1AParameterThatNoRowHasButZoomNames) {
  const Answer answer = ask(R"(
    {"kind": "zoom", "iteration": 0, "op_name": "b.fc/forward", "result": "given", "why": "the parameter weight holds the fault"}
    Net Net/forward i0 ok
    Linear b.fc/forward o0 nan
    Net Net/forward o0 nan)");
  EXPECT_EQ(told(answer.verdict), "parameter, parameter, b.fc.weight, 0, 0");
  EXPECT_TRUE(says(answer, "The parameter b.fc.weight holds NaN: b.fc (Linear) gave it with 3 NaN"));
}

TEST(OriginRules, R2TheDataHadIt) {
  for (const char* what : {"nan", "all-nan"}) {  // statistics that are all NaN are those of the output, too
    const Answer answer = ask(
        std::string(kCode) + "@6\n Net Net/forward i0 ok\n Net Net/forward o0 ok\n @7\n Net Net/forward i0 " + what +
        "\n Linear a/forward i0 " + what + "\n Linear a/forward o0 " + what + "\n Net Net/forward o0 " + what);
    EXPECT_EQ(told(answer.verdict), "entered, input, Net/forward, 7, 0");
    EXPECT_EQ(answer.verdict.last_clean_iteration, 6u);
    EXPECT_TRUE(says(answer, "came in with the data: Net input 0 holds"));
    EXPECT_TRUE(says(answer, "iteration 7 (6 was clean)"));
  }
}

TEST(OriginRules, R3ACallMadeItOfFiniteInputsAndWhatContainsItIsFolded) {
  const Answer answer = ask(std::string(kCode) + R"(
    Net Net/forward i0 ok
    Linear a/forward i0 ok
    Linear a/forward o0 ok
    B b/forward i0 ok
    Log b.act/forward i0 ok
    Log b.act/forward o0 nan
    B b/forward o0 nan
    Net Net/forward o0 nan)");
  EXPECT_EQ(told(answer.verdict), "produced, forward, b.act/forward, 0, 0");
  ASSERT_EQ(answer.verdict.inside.size(), 2u);
  EXPECT_EQ(answer.verdict.inside[0].op_name, "b/forward");
  EXPECT_TRUE(says(answer, "NaN in b.act (Log), forward, iteration 0: made of finite inputs"));
  EXPECT_TRUE(says(answer, "inside b, Net"));
  EXPECT_TRUE(says(answer, "called at /home/me/model.py:41"));
  EXPECT_TRUE(says(answer, "log of a negative"));
  EXPECT_TRUE(says(answer, "input 0: float32 (2,4), max 1.5, min -2.5"));
}

TEST(OriginRules, R3ItselfBehindTheCallsThatItContains) {
  const Answer answer = ask(std::string(kCode) + R"(
    Net Net/forward i0 ok
    Linear a/forward i0 ok
    Linear a/forward o0 ok
    Net Net/forward o0 inf)");
  EXPECT_EQ(told(answer.verdict), "produced, forward, Net/forward, 0, 0");
  EXPECT_TRUE(says(answer, "made by its own code after a (Linear)"));
}

TEST(OriginRules, R4CodeOfTheParentBetweenTwoCalls) {
  const Answer answer = ask(std::string(kCode) + R"(
    Net Net/forward i0 ok
    Linear a/forward i0 ok
    Linear a/forward o0 ok
    Linear b/forward i0 nan
    Linear b/forward o0 nan
    Net Net/forward o0 nan)");
  EXPECT_EQ(told(answer.verdict), "produced, forward, Net/forward, 0, 0");
  EXPECT_TRUE(says(answer, "made by its own code after a (Linear), before b (Linear)"));
}

TEST(OriginRules, R4WithoutRowsOfInputsIsNotKnown) {
  const std::string rows =
      "Net Net/forward i0 ok\n Linear a/forward o0 ok\n Linear b/forward o0 nan\n Net Net/forward o0 nan\n";
  const Answer answer = ask(kCode + rows);
  EXPECT_EQ(told(answer.verdict), "unknown, forward, b/forward, 0, 0");
  EXPECT_TRUE(says(answer, "its inputs are not in the rows"));
  EXPECT_TRUE(says(answer, "it began after a (Linear), which is clean"));
  EXPECT_TRUE(says(answer, "inputs=True"));
  // The call was run again: it made it, or it was given it.
  const std::string zoom = R"({"kind": "zoom", "iteration": 0, "op_name": "b/forward", "result": ")";
  const Answer half = ask(kCode + zoom + R"(found", "operation": "log", "file": "/home/me/model.py", "line": 54,
)" + "\n" + rows);
  EXPECT_EQ(half.verdict.kind, FaultKind::kUnknown);  // half a line of json has no effect
  const Answer whole =
      ask(kCode + zoom +
          R"(found", "operation": "log", "file": "/m/model.py", "line": 54, "given": "min -3.1", "gave": "6 NaN"})" +
          "\n" + rows);
  EXPECT_EQ(told(whole.verdict), "produced, forward, b/forward, 0, 0");
  EXPECT_EQ(whole.verdict.operation, "log");
  EXPECT_TRUE(says(whole, "log at model.py:54 was given min -3.1 and gave 6 NaN: log of a negative"));
  const Answer given = ask(kCode + zoom + "given\"}\n" + rows);
  EXPECT_EQ(told(given.verdict), "produced, forward, Net/forward, 0, 0");
  EXPECT_TRUE(says(given, "made by its own code after a (Linear), before b (Linear)"));
}

TEST(OriginRules, R3ACallThatWritesToItsCacheIsKnownByTheCallAroundIt) {
  const std::string rows =
      "Net Net/forward i0 ok\n Linear a/forward o0 ok\n Attention b/forward o0 nan\n Net Net/forward o0 nan\n";
  const std::string zooms =
      R"({"kind": "zoom", "iteration": 0, "op_name": "b/forward", "result": "refused", "why": "it raised"})"
      "\n"
      R"({"kind": "zoom", "iteration": 0, "op_name": "Net/forward", "result": "found", "operation": "div", "inside": ")";
  const Answer answer = ask(kCode + zooms + "b\"}\n" + rows);
  EXPECT_EQ(told(answer.verdict), "produced, forward, b/forward, 0, 0");
  EXPECT_EQ(answer.verdict.operation, "div");
  // An operation of another module did not make it.
  EXPECT_EQ(ask_who(kCode + zooms + "a\"}\n" + rows), "unknown, forward, b/forward, 0, 0");
}

TEST(OriginRules, R6AResultThatTheModelUsesHasAGradientFromInside) {
  const std::string rows = R"(
    Net Net/forward i0 ok
    Net Net/forward o0 ok
    Net Net/forward o1 ok
    Loss loss o0 ok
    Net Net/backward i0 ok
    Linear a/backward i0 ok
    Net Net/backward i1 nan
)";
  const Answer unclear = ask(kCode + rows);
  EXPECT_EQ(unclear.verdict.kind, FaultKind::kUnknown);
  const std::string zoom = R"({"kind": "zoom", "iteration": 0, "op_name": ")";
  EXPECT_EQ(ask(kCode + zoom + R"(Net/backward", "of": "Net/backward", "result": "given"})" + rows).verdict.kind,
            FaultKind::kLoss);
  const Answer answer = ask(kCode + zoom + R"(a/backward", "of": "Net/backward", "result": "found", "operation": )" +
                            R"("SqrtBackward0", "inside": "a"})" + rows);
  EXPECT_EQ(told(answer.verdict), "produced, backward, a/backward, 0, 0");
  EXPECT_EQ(answer.verdict.operation, "SqrtBackward0");
}

TEST(OriginRules, R4InASequentialNothingIsBetween) {
  EXPECT_EQ(ask_who("Sequential Sequential/forward i0 ok\n Linear 0/forward o0 ok\n Log 1/forward o0 nan\n "
                    "Sequential Sequential/forward o0 nan"),
            "produced, forward, 1/forward, 0, 0");
}

TEST(OriginRules, ResultsThatAreNotUnderstoodAccuseNobody) {
  const Answer answer = ask(std::string(kCode) + R"(
    {"kind": "not_seen", "iteration": 0, "op_name": "a/forward", "io": "output", "why": "class Box"}
    Net Net/forward i0 ok
    Linear a/forward i0 ok
    Linear b/forward i0 nan
    Linear b/forward o0 nan
    Net Net/forward o0 nan)");
  EXPECT_EQ(answer.verdict.kind, FaultKind::kUnknown);
  EXPECT_TRUE(says(answer, "not understood (class Box)"));
}

TEST(OriginRules, R5TheLoss) {
  const Answer answer = ask(R"(
    @1
    Net Net/forward i0 ok
    Net Net/forward o0 ok
    Loss loss o0 ok
    @2
    Net Net/forward i0 ok
    Linear head/forward o0 ok
    Net Net/forward o0 ok
    Net Net/backward i0 nan
    Linear head/backward i0 nan
    Gradient head.weight i0 nan
    Loss loss o0 nan
    Parameter head.weight o0 nan)");
  EXPECT_EQ(told(answer.verdict), "loss, loss, loss, 2, 0");
  EXPECT_TRUE(says(answer, "The loss is NaN, and the model is not"));
}

TEST(OriginRules, R5AnOperationOfTheLoss) {
  const std::string model = "Net Net/forward i0 ok\n Net Net/forward o0 ok\n";
  const Answer answer =
      ask(model +
          "log loss/log.0/forward i0 ok\n log loss/log.0/forward o0 nan\n mean loss/mean.0/forward i0 nan\n"
          "mean loss/mean.0/forward o0 nan\n mean loss/mean.0/backward i0 ok\n Loss loss o0 nan");
  EXPECT_EQ(told(answer.verdict), "loss, loss, loss/log.0/forward, 0, 0");
  EXPECT_EQ(answer.verdict.operation, "log");
  // The backward of an operation uses what its forward saved: here what the model gave.
  EXPECT_EQ(ask_who("Net Net/forward i0 ok\n Log a/forward i0 ok\n Log a/forward o0 nan\n Net Net/forward o0 nan\n "
                    "square loss/square.0/forward i0 nan\n"
                    "square loss/square.0/forward o0 nan\n square loss/square.0/backward i0 ok\n square "
                    "loss/square.0/backward o0 nan"),
            "produced, forward, a/forward, 0, 0");
}

TEST(OriginRules, AnOperationBetweenTwoModelsIsNoneOfTheLoss) {
  EXPECT_EQ(ask_who("Net gen/forward i0 ok\n Net gen/forward o0 ok\n log loss/log.0/forward i0 ok\n log "
                    "loss/log.0/forward o0 nan\n"
                    "Net disc/forward i0 nan\n Net disc/forward o0 nan\n Loss loss o0 nan"),
            "produced, forward, loss/log.0/forward, 0, 0");
}

TEST(OriginRules, AnOperationWithoutResultsMakesNothing) {
  EXPECT_EQ(ask_who("is_complex Net/is_complex.0/forward i0 nan\n Net Net/forward i0 nan\n Net Net/forward o0 nan"),
            "entered, input, Net/forward, 0, 0");
}

TEST(OriginRules, R5WithoutTheModelsResultIsNotKnown) {
  const Answer answer =
      ask("Linear a/forward o0 ok\n Loss loss o0 nan\n {\"kind\": \"code\", \"op_name\": \"a/forward\", "
          "\"parent\": \"Net/forward\"}");
  EXPECT_EQ(answer.verdict.kind, FaultKind::kUnknown);
  EXPECT_TRUE(says(answer, "the results of the model are not in the rows"));
}

TEST(OriginRules, R6TheBackwardOfTheLoss) {
  const Answer answer = ask(R"(
    Net Net/forward i0 ok
    Linear head/forward o0 ok
    Net Net/forward o0 ok
    Net Net/backward i0 inf
    Linear head/backward i0 inf
    Gradient head.weight i0 nan
    Loss loss o0 ok)");
  EXPECT_EQ(told(answer.verdict), "loss, backward, loss, 0, 0");
  EXPECT_TRUE(says(answer, "The gradient that the loss hands to Net holds 1 Inf"));
}

TEST(OriginRules, R6aABackwardMadeItOfFiniteGradients) {
  EXPECT_EQ(ask_who(std::string(kCode) + R"(
    Net Net/forward i0 ok
    Linear a/forward o0 ok
    Bad b/forward o0 ok
    Net Net/forward o0 ok
    Net Net/backward i0 ok
    Bad b/backward i0 ok
    Bad b/backward o0 nan
    Linear a/backward i0 nan
    Gradient a.weight i0 nan
    Net Net/backward o0 nan)"),
            "produced, backward, b/backward, 0, 0");
}

TEST(OriginRules, R6bTheGradientOfAnOwnParameter) {
  EXPECT_EQ(ask_who(R"(
    Net Net/forward i0 ok
    Norm a/forward o0 ok
    Net Net/forward o0 ok
    Net Net/backward i0 ok
    Norm a/backward i0 ok
    Gradient a.weight i0 nan)"),
            "produced, backward, a/backward, 0, 0");
}

TEST(OriginRules, R6cCodeOfTheParentInBackward) {
  const std::string begins =
      std::string(kCode) +
      "Net Net/forward i0 ok\n Linear a/forward o0 ok\n Linear b/forward o0 ok\n Net Net/forward o0 ok\n "
      "Net Net/backward i0 ok\n Linear b/backward i0 ok\n";
  const std::string ends = "Linear a/backward i0 nan\n Gradient a.weight i0 nan\n";
  const Answer answer = ask(begins + "Linear b/backward o0 ok\n" + ends);
  EXPECT_EQ(told(answer.verdict), "produced, backward, Net/backward, 0, 0");
  EXPECT_TRUE(says(answer, "made by its own code after b (Linear), before a (Linear)"));
  // The gradient of b's arguments is not in the rows: b made it, or the code between b and a.
  const Answer unseen = ask(begins + ends);
  EXPECT_EQ(unseen.verdict.kind, FaultKind::kUnknown);
  EXPECT_EQ(told(unseen.verdict), "unknown, backward, b/backward, 0, 0");
  EXPECT_TRUE(says(unseen, "Not known: NaN began in the backward of b (Linear), or between it and a (Linear)"));
  EXPECT_TRUE(says(unseen, "the gradients between them are not in the rows"));
  const Answer refused = ask(
      R"({"kind": "zoom", "iteration": 0, "op_name": "a/backward", "of": "a/backward", "result": "refused", "why": "a lock"})"
      "\n" +
      begins + ends);
  EXPECT_EQ(told(refused.verdict), "unknown, backward, b/backward, 0, 0");
  EXPECT_TRUE(says(refused, "the operation is not known: a lock"));
}

}  // namespace origin_rules_test
}  // namespace tensorstat::test
