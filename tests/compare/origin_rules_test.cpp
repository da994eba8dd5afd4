// Where NaN or Inf began is decided by ordered rules over calls: one test a rule of stats/doc/origin.md, over rows as a
// watch of PyTorch, msprobe and MindSpore leave them. Where rows cannot tell, the answer is "unknown", with the reason.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <sstream>
#include <string>

#include "stats/compare/origin/verdict.hpp"

namespace tensorstat {
namespace origin_rules_test {

// A line is a row: type, name, i or o with a slot, and what the tensor holds: ok, nan, inf, -inf, or all-nan. "@3"
// begins iteration 3, "#1" the rows of rank 1. A line that begins with { is of watch.ndjson.
struct Rows {
  Record record;
  Hints hints;

  explicit Rows(const std::string& text) {
    std::istringstream lines(text);
    std::map<std::uint32_t, std::string> watches;
    std::uint32_t rank = 0;
    std::uint64_t iteration = 0, time = 0;
    for (std::string line; std::getline(lines, line);) {
      line.erase(0, std::min(line.find_first_not_of(' '), line.size()));
      if (line.empty()) continue;
      if (line[0] == '@') {
        iteration = std::stoull(line.substr(1));
      } else if (line[0] == '#') {
        rank = static_cast<std::uint32_t>(std::stoul(line.substr(1)));
      } else if (line[0] == '{') {
        watches[rank] += line + "\n";
      } else {
        std::istringstream words(line);
        std::string type, name, place, what;
        words >> type >> name >> place >> what;
        record.add(row_of(type, name, place[0] == 'i', std::stoull(place.substr(1)), ++time, what),
                   {.name = name, .rank = rank, .iteration = iteration, .is_parameter = place.ends_with('p')});
      }
    }
    for (const auto& [of, said] : watches) hints.add_watch(of, said);
    record.sort();
  }

  static Row row_of(const std::string& type, const std::string& name, bool is_input, std::uint64_t slot,
                    std::uint64_t time, const std::string& what) {
    Row row;
    row.identity = {
        .op_type = type, .op_name = name, .timestamp_us = time, .io = is_input ? "input" : "output", .slot = slot};
    row.data_type = "float32";
    row.shape = {2, 4};
    const bool is_nan = what == "nan" || what == "all-nan";
    const double inf = HUGE_VAL,
                 max = is_nan          ? NAN
                       : what == "inf" ? inf
                                       : 1.5,
                 min = is_nan           ? NAN
                       : what == "-inf" ? -inf
                                        : -2.5;
    row.statistics = {
        {Category::kMax, Category::kMin, Category::kNanCount, Category::kPositiveInfCount, Category::kNegativeInfCount},
        {max, min,
         std::uint64_t{what == "nan" ? 3u
                       : is_nan      ? 8u
                                     : 0u},
         std::uint64_t{what == "inf"}, std::uint64_t{what == "-inf"}}};
    if (what == "bare-nan")
      row.statistics = {{Category::kMax, Category::kMin}, {double{NAN}, double{NAN}}};  // without counts
    return row;
  }
};

// "kind, phase, op_name, iteration, rank"
std::string told(const FaultVerdict& verdict) {
  if (verdict.kind == FaultKind::kNone) return "none";
  return std::string(name(verdict.kind)) + ", " + std::string(name(verdict.phase)) + ", " + verdict.guilty.op_name +
         ", " + std::to_string(verdict.iteration) + ", " + std::to_string(verdict.rank);
}
Answer ask(const std::string& text, const FaultChoice& choice = {}) {
  Rows run(text);
  return answer_of(run.record, run.hints, choice);
}
std::string ask_who(const std::string& text, const FaultChoice& choice = {}) { return told(ask(text, choice).verdict); }

bool says(const Answer& answer, const std::string& words) {
  std::string all = answer.verdict.sentence;
  for (const std::string& detail : answer.verdict.details) all += "\n" + detail;
  for (const std::string& note : answer.notes) all += "\n" + note;
  return all.find(words) != all.npos || (ADD_FAILURE() << "\"" << words << "\" is not said in\n" << all, false);
}

constexpr const char* kCode = R"(
  {"kind": "run", "world_size": 1, "every": 1, "inputs": "all", "level": "module"}
  {"kind": "code", "op_name": "Net/forward", "iteration": 0, "file": "/home/me/train.py", "line": 9, "function": "train", "parent": ""}
  {"kind": "code", "op_name": "a/forward", "iteration": 0, "file": "/home/me/model.py", "line": 20, "function": "forward", "parent": "Net/forward"}
  {"kind": "code", "op_name": "b/forward", "iteration": 0, "file": "/home/me/model.py", "line": 21, "function": "forward", "parent": "Net/forward"}
  {"kind": "code", "op_name": "b.act/forward", "iteration": 0, "file": "/home/me/model.py", "line": 41, "function": "forward", "parent": "b/forward"}
)";

// ---- PyTorch's watch ----

TEST(OriginRules, R0NothingIsWrong) {
  const Answer answer = ask("Net Net/forward i0 ok\n a a/forward o0 ok\n Net Net/forward o0 ok\n Loss loss o0 ok");
  EXPECT_EQ(answer.verdict.kind, FaultKind::kNone);
  EXPECT_TRUE(answer.notes.empty());
  EXPECT_TRUE(says(answer, "Nothing wrong: neither NaN nor Inf in 4 tensors"));
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

// ---- what was not watched excuses ----

TEST(OriginRules, AParameterThatWasNotWatchedIsAsSuspiciousAsItsModule) {
  const std::string said = R"({"kind": "run", "inputs": "all", "parameters": false, "holders": ["a"]})";
  const Answer answer = ask(said + R"(
    Net Net/forward i0 ok
    Linear a/forward i0 ok
    Linear a/forward o0 nan
    Net Net/forward o0 nan)");
  EXPECT_EQ(told(answer.verdict), "unknown, forward, a/forward, 0, 0");
  EXPECT_TRUE(says(answer, "parameters were not watched; watch(..., parameters=True) would tell"));
  EXPECT_EQ(answer.verdict.not_watched, (std::vector<std::string>{"parameters", "loss"}));
  EXPECT_EQ(ask_who(said + R"(
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
  const std::string said = R"({"kind": "run", "gradients": false})";
  EXPECT_EQ(ask_who(said + rows), "unknown, forward, a/forward, 0, 0");
  EXPECT_EQ(ask_who(said + rows + "\n Parameter a.weight o0 ok"), "none");
  EXPECT_EQ(ask_who(said + rows + "\n Parameter a.weight o0 nan"), "produced, forward, a/forward, 0, 0");
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
  const Answer found = ask(kCode + zoom + R"(found", "operation": "log", "file": "/home/me/model.py", "line": 54,
)" + "\n" + rows);
  EXPECT_EQ(found.verdict.kind, FaultKind::kUnknown);  // half a line of json says nothing
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
  EXPECT_TRUE(says(unseen, "the gradients between them are not in the rows"));
}

TEST(OriginRules, R7AFaultThatEndsIsANoteAndTaintsNothing) {
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

TEST(OriginRules, R7NanEndsToo) {
  const Answer answer =
      ask("Net Net/forward i0 ok\n Log a/forward o0 nan\n Where b/forward i0 nan\n Where b/forward o0 ok\n Net "
          "Net/forward o0 ok");
  EXPECT_EQ(told(answer.verdict), "none");
  EXPECT_TRUE(says(answer, "NaN of a (Log) ended at b (Where)"));
}

TEST(OriginRules, R7EndsWhereTheParentIsClean) {
  EXPECT_EQ(
      ask_who("Net Net/forward i0 ok\n Mask mask/forward i0 ok\n Mask mask/forward o0 -inf\n Net Net/forward o0 ok"),
      "none");
}

TEST(OriginRules, R7EndsBeforeTheLoss) {
  const std::string rows = "Net Net/forward i0 ok\n Net Net/forward o0 -inf\n";
  EXPECT_EQ(ask_who(rows), "produced, forward, Net/forward, 0, 0");  // nothing says that it ended
  EXPECT_EQ(ask_who(rows + "Loss loss o0 ok"), "none");
  // The gradients of what was cut off are clean, and the loss is not.
  EXPECT_EQ(ask_who(rows + "Net Net/backward i0 ok\n Loss loss o0 inf"), "produced, forward, Net/forward, 0, 0");
  EXPECT_EQ(ask_who(rows + "Net Net/backward i0 ok\n"), "none");
  EXPECT_EQ(ask_who(rows + "Net Net/backward i0 nan\n Gradient a.weight i0 nan\n"),
            "produced, forward, Net/forward, 0, 0");
}

TEST(OriginRules, R7bAnotherWay) {
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

TEST(OriginRules, R7cCutOffAndBackAgain) {
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

TEST(OriginRules, R7wWrittenOrComputed) {
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

TEST(OriginRules, R8TheGradientWasChangedBeforeTheStep) {
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

TEST(OriginRules, R8sAStepThatAScalerSkippedIsANote) {
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

TEST(OriginRules, R9TheOptimizerWroteIt) {
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

TEST(OriginRules, R10OneRankHadItAndTheOthersReceivedIt) {
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

TEST(OriginRules, IterationsComeBeforeNames) {
  EXPECT_EQ(ask_who("@2\n Net Net/forward i0 nan\n @10\n Net Net/forward i0 nan\n #1\n @1\n Net Net/forward i0 ok\n "
                    "Log a/forward i0 ok\n Log a/forward o0 nan"),
            "produced, forward, a/forward, 1, 1");
}

TEST(OriginRules, WhatACheckpointRunsAgainSaysNothingNew) {
  EXPECT_EQ(ask_who(std::string(kCode) + R"(
    Net Net/forward i0 ok
    Linear a/forward o0 ok
    Net Net/forward o0 ok
    Net Net/backward i0 ok
    Linear a/forward o0 nan
    Loss loss o0 ok)"),
            "none");
}

TEST(OriginRules, GrowthIsTheReasonOfAnOverflow) {
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

// ---- msprobe ----

TEST(OriginRules, OfMsprobesModulesAndFunctions) {
  // Statistics without counts: those of an input that are all NaN prove nothing.
  const std::string bad_batch =
      "Linear Module.a.Linear.forward.0 i0 bare-nan\n Linear Module.a.Linear.forward.0 o0 bare-nan\n";
  EXPECT_EQ(ask_who(bad_batch + "relu Functional.relu.0.forward i0 bare-nan\n"),
            "entered, input, Module.a.Linear.forward.0, 0, 0");
  // Of modules alone: code of the model before the first of them has no rows.
  EXPECT_EQ(ask_who(bad_batch), "unknown, input, Module.a.Linear.forward.0, 0, 0");
  EXPECT_EQ(ask_who(R"(
    Linear Module.a.Linear.forward.0 i0 ok
    Linear Module.a.Linear.forward.0 o0 ok
    log Functional.log.0.forward i0 ok
    log Functional.log.0.forward o0 bare-nan
    Linear Module.b.Linear.forward.0 i0 bare-nan
    Linear Module.b.Linear.forward.0 o0 bare-nan)"),
            "produced, forward, Functional.log.0.forward, 0, 0");
  // A model is no module of its dump: what is between two of its modules, or came in, is not known.
  const Answer between = ask(R"(
    Linear Module.a.Linear.forward.0 i0 ok
    Linear Module.a.Linear.forward.0 o0 ok
    Linear Module.b.Linear.forward.0 i0 bare-nan
    Linear Module.b.Linear.forward.0 o0 bare-nan)");
  EXPECT_EQ(told(between.verdict), "unknown, forward, Module.b.Linear.forward.0, 0, 0");
  EXPECT_TRUE(says(between, "it began after Module.a.Linear.forward.0, which is clean"));
}

TEST(OriginRules, OfMsprobesModulesParentsComeFirst) {
  EXPECT_EQ(ask_who(R"(
    Block Module.block.Block.forward.0 i0 ok
    Block Module.block.Block.forward.0 o0 bare-nan
    Linear Module.block.fc.Linear.forward.0 i0 ok
    Linear Module.block.fc.Linear.forward.0 o0 ok
    Log Module.block.act.Log.forward.0 i0 ok
    Log Module.block.act.Log.forward.0 o0 bare-nan)"),
            "produced, forward, Module.block.act.Log.forward.0, 0, 0");
  EXPECT_EQ(ask_who(R"(
    Linear Module.block.fc.Linear.forward.0 i0 ok
    Linear Module.block.fc.Linear.forward.0 i1p bare-nan
    Linear Module.block.fc.Linear.forward.0 o0 bare-nan)"),
            "parameter, parameter, Module.block.fc.Linear.forward.0, 0, 0");
}

TEST(OriginRules, OfMsprobesBackward) {
  const std::string forward =
      "Linear Module.a.Linear.forward.0 i0 ok\n Linear Module.a.Linear.forward.0 o0 ok\n"
      "Linear Module.a.Linear.parameters_grad o0 bare-nan\n"
      "Bad Module.b.Bad.forward.0 i0 ok\n Bad Module.b.Bad.forward.0 o0 ok\n";
  EXPECT_EQ(ask_who(forward + "Bad Module.b.Bad.backward.0 i0 ok\n Bad Module.b.Bad.backward.0 o0 bare-nan\n"
                              "Linear Module.a.Linear.backward.0 i0 bare-nan\n"),
            "produced, backward, Module.b.Bad.backward.0, 0, 0");
  EXPECT_EQ(ask_who(forward + "Bad Module.b.Bad.backward.0 i0 bare-nan\n Bad Module.b.Bad.backward.0 o0 bare-nan\n"
                              "Linear Module.a.Linear.backward.0 i0 bare-nan\n"),
            "unknown, backward, Module.b.Bad.backward.0, 0, 0");
  EXPECT_EQ(ask_who(forward + "Bad Module.b.Bad.backward.0 i0 ok\n Bad Module.b.Bad.backward.0 o0 ok\n"
                              "Linear Module.a.Linear.backward.0 i0 ok\n"),
            "produced, backward, Module.a.Linear.backward.0, 0, 0");
}

// ---- MindSpore, CANN ----

TEST(OriginRules, OfAGraph) {
  EXPECT_EQ(ask_who("Conv2D Default/Conv2D-op1 i0 ok\n Conv2D Default/Conv2D-op1 o0 ok\n Log Default/Log-op2 i0 ok\n "
                    "Log Default/Log-op2 o0 bare-nan\n"
                    "Add Default/Add-op3 i0 bare-nan\n Add Default/Add-op3 o0 bare-nan"),
            "produced, forward, Default/Log-op2, 0, 0");
  EXPECT_EQ(ask_who("Conv2D Default/Conv2D-op1 i0 bare-nan\n Conv2D Default/Conv2D-op1 o0 bare-nan"),
            "entered, input, Default/Conv2D-op1, 0, 0");
  EXPECT_EQ(ask_who("Mul Gradients/Default/Mul-op1 i0 ok\n Mul Gradients/Default/Mul-op1 o0 nan"),
            "produced, backward, Gradients/Default/Mul-op1, 0, 0");
  EXPECT_EQ(
      ask_who("Parameter conv1.weight o0 nan\n Conv2D Default/Conv2D-op1 i0 ok\n Conv2D Default/Conv2D-op1 i1 nan\n"
              "Conv2D Default/Conv2D-op1 o0 nan"),
      "parameter, parameter, conv1.weight, 0, 0");
}

TEST(OriginRules, OfAGraphWithoutInputs) {
  const Answer answer =
      ask("Conv2D Default/Conv2D-op1 o0 ok\n ReLU Default/ReLU-op2 o0 nan\n Add Default/Add-op3 o0 nan");
  EXPECT_EQ(told(answer.verdict), "unknown, forward, Default/ReLU-op2, 0, 0");
  EXPECT_TRUE(says(answer, "it began after Default/Conv2D-op1 (Conv2D), which is clean"));
}

TEST(OriginRules, OfAnOperatorInPlace) {
  // Its input holds the result, and NaN proves nothing.
  const Answer nan =
      ask("AssignAdd Default/AssignAdd-op1 i0 all-nan\n AssignAdd Default/AssignAdd-op1 i1 ok\n AssignAdd "
          "Default/AssignAdd-op1 o0 all-nan");
  EXPECT_EQ(told(nan.verdict), "unknown, forward, Default/AssignAdd-op1, 0, 0");
  EXPECT_TRUE(says(nan, "it wrote over its input"));
  // Add is none.
  EXPECT_EQ(ask_who("Add Default/Add-op1 i0 all-nan\n Add Default/Add-op1 i1 ok\n Add Default/Add-op1 o0 all-nan"),
            "entered, input, Default/Add-op1, 0, 0");
}

TEST(OriginRules, OfACollectiveWhoseOtherRanksAreNotHere) {
  const std::string rows = "AllReduce Default/AllReduce-op1 i0 ok\n AllReduce Default/AllReduce-op1 o0 nan\n";
  EXPECT_EQ(ask(rows).verdict.kind, FaultKind::kUnknown);
  EXPECT_EQ(
      ask_who("#0\n" + rows +
              "#1\n Log Default/Log-op0 i0 ok\n Log Default/Log-op0 o0 nan\n AllReduce Default/AllReduce-op1 i0 nan\n"
              "AllReduce Default/AllReduce-op1 o0 nan\n"),
      "produced, forward, Default/Log-op0, 0, 1");
}

TEST(OriginRules, OfTensorsAlone) {
  const Answer answer = ask("Tensor w o0 ok\n Tensor v o0 nan");
  EXPECT_EQ(told(answer.verdict), "unknown, forward, v, 0, 0");
  EXPECT_TRUE(says(answer, "without the operators that made them"));
}

// ---- what lies beside the rows ----

TEST(OriginHints, TheLineOfAnOperatorInAGraph) {
  constexpr const char* kText = R"(
  %19(equivoutput) = Cast(%18) {instance name: cast}
       : full_name_with_scope: (Default/network-WithLossCell/Cast-op11)
       # In file ./other.py(3)/        y = x/
  %20(equivoutput) = Conv2D(%17, %19) {instance name: conv2d} primitive_attrs: {kernel_size: (3, 3)}
       : (<Tensor[Float32], (32, 256, 13, 13)>) -> (<Tensor[Float32], (32, 384, 13, 13)>)
       : full_name_with_scope: (Default/network-WithLossCell/_backbone-AlexNet/conv3-Conv2d/Conv2D-op12)
       ...
       # In file ./tain_alexnet.py(175)/        x = self.conv3(x)/
  %21(equivoutput) = ReLU(%20)
       # Fullname with scope: (Default/ReLU-op13)
       # In file /a b/net.py:58, 8~30/        x = self.relu(x)/
  %22 = Add(%21)
       : full_name_with_scope: (Default/Add-op14)
  %23 = Add(%21)
       # In file /a/net.py:9/
)";
  const auto conv = line_in_graph(kText, "Default_network-WithLossCell__backbone-AlexNet_conv3-Conv2d_Conv2D-op12");
  ASSERT_TRUE(conv.has_value());
  EXPECT_EQ(conv->file, "./tain_alexnet.py");
  EXPECT_EQ(conv->line, 175u);
  const auto relu = line_in_graph(kText, "Default/ReLU-op13");
  ASSERT_TRUE(relu.has_value());
  EXPECT_EQ(relu->file, "/a b/net.py");
  EXPECT_EQ(relu->line, 58u);
  EXPECT_FALSE(line_in_graph(kText, "Default/Add-op14"));
  EXPECT_FALSE(line_in_graph(kText, "Default/Other-op1"));
  EXPECT_FALSE(line_in_graph("# In file", "x"));
}

// As MindSpore 1.5's documents have it: the attributes of an operator span lines, its types have brackets, and the name
// stands alone in parentheses. A line whose file or number is missing is no line, and not that of the next operator.
TEST(OriginHints, TheLineOfAnOperatorInAGraphOfRelease15) {
  constexpr const char* kText =
      "  %24(equivoutput) = Conv2D(%23, %21) {instance name: conv2d} primitive_attrs: {compile_info: , pri_format: "
      "NC1HWC0, out_channel:\n"
      "192, mode: 1, output_names: [output], format: NCHW, kernel_size: (3, 3), input_names: [x, w], pad_list: (1, 1, "
      "1, "
      "1),\n"
      "IsFeatureMapOutput: true, IsFeatureMapInputList: (0)}\n"
      "       : (<Tensor[Float32]x[const vector][32, 128, 13, 13]>, <Tensor[Float16]x[const vector][192, 128, 3, 3]>) "
      "-> "
      "(<Tensor[Float16]x[const vector][32, 192, 13, 13]>)\n"
      "       : (<Float16xNC1HWC0[const vector][32, 8, 13, 13, 16]>, <Float16xFracZ[const vector][72, 12, 16, 16]>) -> "
      "(<Float16xNC1HWC0[const vector][32, 12, 13, 13, 16]>)\n"
      "       : (Default/network-WithLossCell/_backbone-AlexNet/conv3-Conv2d/Conv2D-op107)\n"
      "       ...\n"
      "       # In file {Absolute path of model_zoo}/official/cv/alexnet/src/alexnet.py(58)/        x = "
      "self.conv3(x)/\n"
      "       ...\n"
      "  %25(equivoutput) = BiasAdd(%24, %22) {instance name: bias_add}\n"
      "       : (Default/network-WithLossCell/_backbone-AlexNet/conv3-Conv2d/BiasAdd-op105)\n"
      "       # In file {Absolute path of model_zoo}/official/cv/alexnet/src/        x = self.conv3(x)/\n"
      "  %26(equivoutput) = ReLU(%25)\n"
      "       : (Default/network-WithLossCell/_backbone-AlexNet/relu-ReLU/ReLU-op100)\n"
      "       # In file alexnet.py(60)/        x = self.relu(x)/\n";
  const std::string scope = "Default_network-WithLossCell__backbone-AlexNet_";
  const auto conv = line_in_graph(kText, scope + "conv3-Conv2d_Conv2D-op107");
  ASSERT_TRUE(conv.has_value());
  EXPECT_EQ(conv->file, "{Absolute path of model_zoo}/official/cv/alexnet/src/alexnet.py");
  EXPECT_EQ(conv->line, 58u);
  EXPECT_FALSE(line_in_graph(kText, scope + "conv3-Conv2d_BiasAdd-op105"));
  const auto relu = line_in_graph(kText, scope + "relu-ReLU_ReLU-op100");
  ASSERT_TRUE(relu.has_value());
  EXPECT_EQ(relu->line, 60u);
}

TEST(OriginHints, TheOwnLineOfAStack) {
  const auto line = line_in_stack({"File /usr/lib/python3/dist-packages/torch/nn/functional.py, line 1, in relu, \n x",
                                   "File /home/me/model.py, line 17, in forward, \n y = F.relu(x)"});
  ASSERT_TRUE(line.has_value());
  EXPECT_EQ(line->file, "/home/me/model.py");
  EXPECT_EQ(line->line, 17u);
  EXPECT_FALSE(line_in_stack({"", "File", "File x, line ", "File /a.py, line y"}));
}

TEST(OriginHints, AreTakenWithoutTrust) {
  Hints hints;
  hints.add_watch(0,
                  "{\n[1]\nnull\n{\"kind\": 5}\n{\"kind\": \"code\"}\n{\"kind\": \"zoom\", \"line\": -3, \"result\": "
                  "[]}\n\"x\"\n{\"kind\": \"code\", \"op_name\": \"a\", \"parent\": \"a\"}");
  EXPECT_EQ(hints.parent_of(0, 0, "a"), "a");
  // A call inside itself, and two inside each other.
  EXPECT_EQ(ask_who(R"(
    {"kind": "code", "op_name": "a/forward", "parent": "a/forward"}
    {"kind": "code", "op_name": "b/forward", "parent": "c/forward"}
    {"kind": "code", "op_name": "c/forward", "parent": "b/forward"}
    A a/forward i0 ok
    B b/forward i0 ok
    C c/forward i0 ok
    C c/forward o0 nan
    B b/forward o0 nan
    A a/forward o0 nan)"),
            "produced, forward, c/forward, 0, 0");
}

}  // namespace origin_rules_test
}  // namespace tensorstat
