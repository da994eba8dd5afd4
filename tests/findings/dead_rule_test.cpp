// The rule "dead": an output of the forward pass or a gradient that held other values is all 0 for 10 iterations, to
// the end. The output of a ReLU needs no other values, and that of a module with gradients of 0 neither, in 20
// iterations.
#include <gtest/gtest.h>

#include "tests/support/planted_run.hpp"

namespace tensorstat {
namespace dead_rule_test {

using test::Planted;
using test::PlantedRun;
using test::PlantedTensor;
using test::Sizes;
using test::operator+;

Sizes ones(std::size_t count) { return Sizes(count, 1); }
Sizes zeros(std::size_t count) { return Sizes(count, 0); }

const PlantedTensor kOutput{.type = "Tanh", .name = "a/forward"};
const PlantedTensor kGradient{.type = "Gradient", .name = "a.weight", .io = "input"};
const PlantedTensor kLoss{.type = "Loss", .name = "loss"};
const std::vector<Planted> kNone;

std::vector<Planted> answer(const PlantedRun& run, const FindingLimits& limits = {}) {
  return test::planted_in(run.judged(limits));
}
std::vector<Planted> answer(const PlantedTensor& tensor, const Sizes& sizes, const FindingLimits& limits = {}) {
  return answer(PlantedRun().add(tensor, sizes), limits);
}

TEST(DeadRule, CountsZerosToTheEndBehindOtherValues) {
  for (const PlantedTensor& tensor : {kOutput, kGradient}) {
    const auto dead = [&](std::uint64_t first, double value, double limit = 10) {
      return std::vector<Planted>{{"dead", tensor.type + " " + tensor.name, first, first - 1, value, limit}};
    };
    SCOPED_TRACE(tensor.name);
    EXPECT_EQ(answer(tensor, ones(3) + zeros(9)), kNone);
    EXPECT_EQ(answer(tensor, ones(3) + zeros(10)), dead(3, 10));
    EXPECT_EQ(answer(tensor, ones(1) + zeros(14)), dead(1, 14));
    EXPECT_EQ(answer(tensor, ones(3) + zeros(10) + ones(1)), kNone);
    EXPECT_EQ(answer(tensor, ones(3) + zeros(10) + ones(1) + zeros(9)), kNone);
    EXPECT_EQ(answer(tensor, ones(3) + zeros(10) + ones(1) + zeros(11)), dead(14, 11));
    EXPECT_EQ(answer(tensor, zeros(40)), kNone);
    EXPECT_EQ(answer(tensor, ones(3) + zeros(3), {{FindingRule::kDead, 3}}), dead(3, 3, 3));
    EXPECT_EQ(answer(tensor, ones(3) + zeros(2), {{FindingRule::kDead, 3}}), kNone);
  }
}

TEST(DeadRule, JudgesOutputsOfTheForwardPassAlone) {
  for (const PlantedTensor& tensor : {PlantedTensor{.type = "Tanh", .name = "a/forward", .io = "input"},
                                      {.type = "Tanh", .name = "a/backward"},
                                      {.type = "Parameter", .name = "a.weight"},
                                      {.type = "ParameterUpdate", .name = "a.weight"},
                                      {.type = "ModuleBuffer", .name = "a.running_mean"},
                                      kLoss}) {
    EXPECT_EQ(answer(tensor, ones(3) + zeros(12)), kNone) << tensor.type;
  }
}

TEST(DeadRule, GradientsOfALossThatIsZeroAreNotJudged) {
  const Sizes sizes = ones(3) + zeros(12);
  EXPECT_EQ(answer(PlantedRun().add(kGradient, sizes).add(kLoss, ones(14) + zeros(1))), kNone);
  EXPECT_EQ(answer(PlantedRun().add(kGradient, sizes).add(kLoss, zeros(14) + ones(1))),
            (std::vector<Planted>{{"dead", "Gradient a.weight", 3, 2, 12, 10}}));
}

TEST(DeadRule, AGradientThatEndsBeforeTheOthersIsNotJudged) {
  PlantedTensor other = kGradient;
  other.name = "b.weight";
  EXPECT_EQ(answer(PlantedRun().add(kGradient, ones(3) + zeros(12)).add(other, ones(16))), kNone);
  EXPECT_EQ(answer(PlantedRun().add(kGradient, ones(3) + zeros(12)).add(other, ones(15))).size(), 1u);
}

TEST(DeadRule, AReluMayBeDeadFromItsFirstIterationOn) {
  const auto dead = [](const char* tensor, double value) {
    return std::vector<Planted>{{"dead", tensor, 0, {}, value, 10}};
  };
  const PlantedTensor relu{.type = "ReLU6", .name = "r/forward"};
  EXPECT_EQ(answer(relu, zeros(19)), kNone);
  EXPECT_EQ(answer(relu, zeros(20)), dead("ReLU6 r/forward", 20));
  EXPECT_EQ(answer(relu, zeros(25)), dead("ReLU6 r/forward", 25));
  EXPECT_EQ(answer({.type = "LeakyReLU", .name = "r/forward"}, zeros(25)), kNone);
  EXPECT_EQ(answer({.type = "ReLU", .name = "r/forward", .io = "input"}, zeros(25)), kNone);
  EXPECT_EQ(answer({.type = "ReLU", .name = "r/backward"}, zeros(25)), kNone);
}

TEST(DeadRule, AModuleIsDeadFromItsFirstIterationOnIfItsGradientsAre) {
  const PlantedTensor bias{.type = "Gradient", .name = "a.bias", .io = "input"};
  const PlantedTensor outside{.type = "Gradient", .name = "ab.weight", .io = "input"};
  const PlantedTensor inner{.type = "Linear", .name = "a.b/forward"};
  const PlantedTensor gradient_of_inner{.type = "Gradient", .name = "a.b.weight", .io = "input"};
  const std::vector<Planted> dead = {{"dead", "Tanh a/forward", 0, {}, 20, 10}};
  const auto run = [] { return PlantedRun().add(kOutput, zeros(20)); };
  EXPECT_EQ(answer(run()), kNone);
  EXPECT_EQ(answer(run().add(outside, zeros(20))), kNone);
  EXPECT_EQ(answer(run().add(kGradient, zeros(20)).add(bias, zeros(20))), dead);
  EXPECT_EQ(answer(run().add(kGradient, zeros(20)).add(outside, ones(20))), dead);
  EXPECT_EQ(answer(run().add(kGradient, zeros(20)).add(bias, zeros(19) + ones(1))), kNone);
  EXPECT_EQ(answer(run().add(kGradient, zeros(19), 1)), kNone) << "19 gradients are too few";
  EXPECT_EQ(answer(run().add(kGradient, zeros(20)).add(kLoss, zeros(20))), kNone);
  EXPECT_EQ(answer(run().add(inner, zeros(20)).add(gradient_of_inner, zeros(20))),
            (std::vector<Planted>{{"dead", "Linear a.b/forward", 0, {}, 20, 10}}));
}

}  // namespace dead_rule_test
}  // namespace tensorstat
