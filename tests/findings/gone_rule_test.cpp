// The rule "gone": a tensor has a row in each of at least 20 iterations of its operator or parameter, and none in 20 of
// the next, to the end.
#include <gtest/gtest.h>

#include "tests/support/planted_run.hpp"

namespace tensorstat {
namespace gone_rule_test {

using test::Planted;
using test::PlantedRun;
using test::PlantedTensor;
using test::Sizes;

const PlantedTensor kGradient{.type = "Gradient", .name = "a.w", .io = "input"};
const PlantedTensor kParameter{.type = "Parameter", .name = "a.w", .io = "input"};
const PlantedTensor kForward{.type = "Linear", .name = "a/forward"};
const PlantedTensor kFirstOutput{.type = "Split", .name = "s/forward"};
const PlantedTensor kSecondOutput{.type = "Split", .name = "s/forward", .slot = 1};
const std::vector<Planted> kNone;

Sizes rows(std::size_t count) { return Sizes(count, 0.5); }

std::vector<Planted> answer(const PlantedRun& run, const FindingLimits& limits = {}) {
  return test::planted_in(run.judged(limits));
}

std::vector<Planted> gone(const char* tensor, std::uint64_t first, double value, double limit = 20) {
  return {{"gone", tensor, first, first - 1, value, limit}};
}

TEST(GoneRule, HoldsAtEachBorder) {
  struct Kind {
    PlantedTensor tensor, rest;
    const char* name;
  };
  for (const Kind& kind : {Kind{kGradient, kParameter, "Gradient a.w"},
                           {kGradient, kForward, "Gradient a.w"},
                           {kSecondOutput, kFirstOutput, "Split s/forward"}}) {
    const auto run = [&](std::size_t all, std::size_t some, std::uint64_t begin = 0) {
      return PlantedRun().add(kind.rest, rows(all)).add(kind.tensor, rows(some), begin);
    };
    SCOPED_TRACE(std::string(kind.name) + " beside " + kind.rest.name);
    EXPECT_EQ(answer(run(40, 20)), gone(kind.name, 20, 20));
    EXPECT_EQ(answer(run(39, 20)), kNone);
    EXPECT_EQ(answer(run(60, 19)), kNone);
    EXPECT_EQ(answer(run(60, 25)), gone(kind.name, 25, 35));
    EXPECT_EQ(answer(run(60, 60)), kNone);
    EXPECT_EQ(answer(run(45, 20, 5)), gone(kind.name, 25, 20)) << "it may begin later";
    EXPECT_EQ(answer(run(60, 20).add(kind.tensor, rows(1), 59)), kNone) << "it comes back";
    EXPECT_EQ(answer(run(60, 10).add(kind.tensor, rows(20), 11)), kNone) << "a row is missing before";
    EXPECT_EQ(answer(run(23, 20), {{FindingRule::kGone, 3}}), gone(kind.name, 20, 3, 3));
    EXPECT_EQ(answer(run(22, 20), {{FindingRule::kGone, 3}}), kNone);
    EXPECT_TRUE(test::is_judged(run(21, 20).judged(), "gone"));
    EXPECT_FALSE(test::is_judged(run(21, 19).judged(), "gone"));
  }
}

TEST(GoneRule, AGradientGoesOnWithItsParameterOrAnOutputOfItsModule) {
  const PlantedTensor input{.type = "Linear", .name = "a/forward", .io = "input"};
  const PlantedTensor other{.type = "Linear", .name = "b/forward"};
  const PlantedTensor second{.type = "Linear", .name = "a/forward", .slot = 1};
  const PlantedTensor on_rank_1{.type = "Linear", .name = "a/forward", .rank = 1};
  const PlantedTensor of_root{.type = "Gradient", .name = "scale", .io = "input"};
  const PlantedTensor root{.type = "Net", .name = "/forward"};
  const auto run = [] { return PlantedRun().add(kGradient, rows(20)); };
  EXPECT_EQ(answer(run().add(kParameter, rows(20))), kNone);
  EXPECT_EQ(answer(run().add(kForward, rows(20))), kNone) << "the whole module stops";
  EXPECT_EQ(answer(run().add(input, rows(40))), kNone);
  EXPECT_EQ(answer(run().add(other, rows(40))), kNone);
  EXPECT_EQ(answer(run().add(on_rank_1, rows(40)), {{FindingRule::kStopped, 99}}), kNone);
  EXPECT_EQ(answer(run().add(kParameter, rows(20)).add(kForward, rows(40))), gone("Gradient a.w", 20, 20));
  EXPECT_EQ(answer(run().add(kForward, rows(50)).add(second, rows(45))), gone("Gradient a.w", 20, 30));
  EXPECT_EQ(answer(PlantedRun().add(of_root, rows(20)).add(root, rows(40))), gone("Gradient scale", 20, 20));
  EXPECT_EQ(answer(PlantedRun().add(kForward, rows(40)).add(kParameter, rows(20))), kNone) << "not a gradient";
}

// A layer that runs twice in an iteration may run once in another.
TEST(GoneRule, TheSecondCallOfALayerIsNotJudged) {
  EXPECT_EQ(answer(PlantedRun().add(kForward, rows(60)).add(kForward, rows(20))), kNone);
}

TEST(GoneRule, ListsOfStatesAreNotJudged) {
  PlantedTensor first{.type = "OptimizerState", .name = "old_dirs", .slot = 1}, second = first;
  second.slot = 2;
  EXPECT_EQ(answer(PlantedRun().add(first, rows(40)).add(second, rows(20))), kNone);
}

}  // namespace gone_rule_test
}  // namespace tensorstat
