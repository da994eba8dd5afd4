// What lies in a container that several calls are given has ended where a call read it, and not where one was given it.
#include <gtest/gtest.h>

#include <string>

#include "tests/support/origin_answers.hpp"

namespace tensorstat::test {
namespace origin_containers_test {

const std::string kHeld = R"(
    {"kind": "held", "iteration": 0, "op_name": "Net/forward", "slots": [1]}
    {"kind": "held", "iteration": 0, "op_name": "a/forward", "slots": [1]}
    {"kind": "held", "iteration": 0, "op_name": "b/forward", "slots": [1]}
)";
// A cache comes in with a NaN; a does not read it.
const std::string kCache = R"(
    Net Net/forward i0 ok
    Net Net/forward i1 nan
    Layer a/forward i0 ok
    Layer a/forward i1 nan
    Layer a/forward o0 ok
    Layer b/forward i0 ok
    Layer b/forward i1 nan
)";
const std::string kRead = kCache + "Layer b/forward o0 nan\n Net Net/forward o0 nan\n Loss loss o0 nan\n";

TEST(OriginContainers, ACallThatDoesNotReadItDoesNotEndIt) {
  const Answer answer = ask(kHeld + kRead);
  EXPECT_EQ(told(answer.verdict), "entered, input, Net/forward, 0, 0");
  EXPECT_TRUE(answer.notes.empty());
  // Without the line the input is a tensor of its own: a took it in, and gave none.
  EXPECT_TRUE(says(ask(kRead), "it ended at a call, and was used another way"));
}

TEST(OriginContainers, WhatNobodyReadsEnds) {
  const std::string clean = kCache + "Layer b/forward o0 ok\n Net Net/forward o0 ok\n";
  EXPECT_EQ(ask_who(kHeld + clean), "none");
  EXPECT_EQ(ask_who(kHeld + clean + "Loss loss o0 ok\n"), "none");
}

TEST(OriginContainers, WhetherItWasReadIsNotKnownUntilASecondRunTells) {
  const Answer unsure = ask(kHeld + kRead);
  EXPECT_EQ(certainty_of(unsure.verdict), "likely");
  EXPECT_TRUE(says(unsure, "b (Layer) was given it in a container"));
  const std::string zoom = R"({"kind": "zoom", "iteration": 0, "op_name": "b/forward", "inside": "b", )";
  const Answer sure =
      ask(kHeld + zoom + R"("result": "given", "why": "its arguments held the fault before the call"})" + "\n" + kRead);
  EXPECT_EQ(certainty_of(sure.verdict), "sure");
  EXPECT_EQ(told(sure.verdict), "entered, input, Net/forward, 0, 0");
  const Answer other =
      ask(kHeld + zoom + R"("result": "found", "operation": "log", "file": "x.py", "line": 3})" + "\n" + kRead);
  EXPECT_EQ(told(other.verdict), "produced, forward, b/forward, 0, 0");
  EXPECT_TRUE(says(other, "log at x.py:3"));
}

TEST(OriginContainers, AnInputOfItsOwnIsTakenIn) {
  EXPECT_TRUE(says(ask(kHeld + R"(
    Net Net/forward i0 ok
    Log log/forward o0 nan
    Layer a/forward i0 nan
    Layer a/forward i1 ok
    Layer a/forward o0 ok
    Net Net/forward o0 ok)"),
                   "NaN of log (Log) ended at a (Layer)"));
}

TEST(OriginContainers, WhoeverWroteItIntoOneIsNotTheCodeAround) {
  const std::string rows = R"(
    Net Net/forward i0 ok
    Layer a/forward i0 ok
    Layer a/forward i1 ok
    Layer a/forward o0 ok
    Layer b/forward i0 ok
    Layer b/forward i1 nan
    Layer b/forward o0 nan
    Net Net/forward o0 nan
    Loss loss o0 nan
)";
  const Answer answer = ask(kHeld + rows);
  EXPECT_EQ(answer.verdict.kind, FaultKind::kUnknown);
  EXPECT_TRUE(
      says(answer, "each call that was given that may have written it there; watch(..., level=\"op\") would tell"));
  // The parent, run again, knows.
  const std::string zooms = R"(
    {"kind": "zoom", "iteration": 0, "op_name": "b/forward", "result": "refused", "why": "its arguments were written"}
    {"kind": "zoom", "iteration": 0, "op_name": "Net/forward", "result": "found", "operation": "sqrt", "inside": "a", "by_container": true}
)";
  EXPECT_EQ(told(ask(kHeld + zooms + rows).verdict), "produced, forward, a/forward, 0, 0");
}

TEST(OriginContainers, NamesAndRowsOfATensorAreSaid) {
  const Answer answer = ask(kHeld + R"(
    {"kind": "names", "iteration": 0, "op_name": "Net/forward", "io": "input", "names": ["x", "cache.keys.1"]}
    {"kind": "rows", "iteration": 0, "op_name": "Net/forward", "io": "input", "slot": 1, "count": 1, "rows": [1], "whole": 2}
)" + kRead);
  EXPECT_TRUE(says(answer, "Net input 1 (cache.keys.1) holds"));
  EXPECT_TRUE(says(answer, "NaN is in row 1 of 2"));
}

}  // namespace origin_containers_test
}  // namespace tensorstat::test
