// The rules of stats/doc/origin.md over rows of msprobe, MindSpore and CANN.
#include <gtest/gtest.h>

#include "tests/support/origin_answers.hpp"

namespace tensorstat::test {
namespace origin_of_dumps_test {

TEST(OriginOfDumps, OfMsprobesModulesAndFunctions) {
  // Statistics without counts: those of an input that are all NaN prove nothing.
  const std::string bad_batch =
      "Linear Module.a.Linear.forward.0 i0 bare-nan\n Linear Module.a.Linear.forward.0 o0 bare-nan\n";
  EXPECT_EQ(ask_who(bad_batch + "relu Functional.relu.0.forward i0 bare-nan\n"),
            "entered, input, Module.a.Linear.forward.0, 0, 0");
  // A dump of modules only: code of the model before the first of them has no rows.
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

TEST(OriginOfDumps, OfMsprobesModulesParentsComeFirst) {
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

TEST(OriginOfDumps, OfMsprobesBackward) {
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

// MindSpore, CANN

TEST(OriginOfDumps, OfAGraph) {
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

TEST(OriginOfDumps, OfAGraphWithoutInputs) {
  const Answer answer =
      ask("Conv2D Default/Conv2D-op1 o0 ok\n ReLU Default/ReLU-op2 o0 nan\n Add Default/Add-op3 o0 nan");
  EXPECT_EQ(told(answer.verdict), "unknown, forward, Default/ReLU-op2, 0, 0");
  EXPECT_TRUE(says(answer, "it began after Default/Conv2D-op1 (Conv2D), which is clean"));
}

TEST(OriginOfDumps, OfAnOperatorInPlace) {
  // Its input holds the result, and NaN proves nothing.
  const Answer nan =
      ask("AssignAdd Default/AssignAdd-op1 i0 all-nan\n AssignAdd Default/AssignAdd-op1 i1 ok\n AssignAdd "
          "Default/AssignAdd-op1 o0 all-nan");
  EXPECT_EQ(told(nan.verdict), "unknown, forward, Default/AssignAdd-op1, 0, 0");
  EXPECT_TRUE(says(nan, "it wrote over its input"));
  // Add does not.
  EXPECT_EQ(ask_who("Add Default/Add-op1 i0 all-nan\n Add Default/Add-op1 i1 ok\n Add Default/Add-op1 o0 all-nan"),
            "entered, input, Default/Add-op1, 0, 0");
}

TEST(OriginOfDumps, OfACollectiveWhoseOtherRanksAreNotHere) {
  const std::string rows = "AllReduce Default/AllReduce-op1 i0 ok\n AllReduce Default/AllReduce-op1 o0 nan\n";
  EXPECT_EQ(ask(rows).verdict.kind, FaultKind::kUnknown);
  EXPECT_EQ(
      ask_who("#0\n" + rows +
              "#1\n Log Default/Log-op0 i0 ok\n Log Default/Log-op0 o0 nan\n AllReduce Default/AllReduce-op1 i0 nan\n"
              "AllReduce Default/AllReduce-op1 o0 nan\n"),
      "produced, forward, Default/Log-op0, 0, 1");
}

TEST(OriginOfDumps, OfTensorsAlone) {
  const Answer answer = ask("Tensor w o0 ok\n Tensor v o0 nan");
  EXPECT_EQ(told(answer.verdict), "unknown, forward, v, 0, 0");
  EXPECT_TRUE(says(answer, "without the operators that made them"));
}

}  // namespace origin_of_dumps_test
}  // namespace tensorstat::test
