// The rule "jump": a size is above 10 times the median of the last 50 values (there are at least 20), three times as
// far from it in logarithms as the greatest of them or 50 times that greatest, and above a tenth of the greatest ever.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/planted_run.hpp"

namespace tensorstat {
namespace jump_rule_test {

using test::Planted;
using test::PlantedRun;
using test::PlantedTensor;
using test::Sizes;
using test::operator+;

Sizes ones(std::size_t count) { return Sizes(count, 1); }

struct Case {
  const char* why;
  Sizes before;
  double size;
  double limit;  // 0: no finding
  FindingLimits limits = {};
};

TEST(JumpRule, HoldsAtEachBorder) {
  const Sizes even = Sizes(10, 2) + ones(10), odd = Sizes(11, 2) + ones(10);
  const Case cases[] = {
      {"10 times is not above 10 times", ones(20), 10, 0},
      {"above 10 times", ones(20), 10.01, 10},
      {"19 values are too few", ones(19), 1000, 0},
      {"another limit", ones(20), 3.01, 3, {{FindingRule::kJump, 3}}},
      {"another limit, not above", ones(20), 3, 0, {{FindingRule::kJump, 3}}},
      {"the lower middle of an even number", even, 10.01, 10},
      {"the middle of an odd number", odd, 20, 0},
      {"the middle of an odd number", odd, 20.01, 20},
      {"three times as far as 3 is 27", Sizes{3} + ones(20), 27, 0},
      {"above three times as far", Sizes{3} + ones(20), 27.01, 27},
      {"50 times 8 is less than three times as far", Sizes{8} + ones(20), 400, 0},
      {"above 50 times the greatest", Sizes{8} + ones(20), 400.01, 400},
      {"a fall is not the greatest", Sizes{0.001} + ones(20), 10.01, 10},
      {"8 is among the last 50", Sizes{8} + ones(49), 400, 0},
      {"8 is older than the last 50", Sizes{8} + ones(50), 10.01, 10},
      {"a tenth of the greatest ever", Sizes{200} + ones(50), 20, 0},
      {"above a tenth of the greatest ever", Sizes{200} + ones(50), 20.01, 10},
      {"the median follows the last 50", ones(60) + Sizes(26, 4), 40, 0},
      {"the median follows the last 50", ones(60) + Sizes(26, 4), 40.01, 40},
      {"a 0 is no value", ones(19) + Sizes{0}, 1000, 0},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.why);
    const std::size_t first = each.before.size();
    const Findings findings =
        PlantedRun().add({.type = "Add", .name = "add"}, each.before + Sizes{each.size, 1}).judged(each.limits);
    std::vector<Planted> expected;
    if (each.limit != 0) expected = {{"jump", "Add add", first, first - 1, each.size, each.limit}};
    EXPECT_EQ(test::planted_in(findings), expected);
  }
  const Sizes short_one = ones(20), long_one = ones(21);
  EXPECT_FALSE(test::is_judged(PlantedRun().add({.type = "Add", .name = "add"}, short_one).judged(), "jump"));
  EXPECT_TRUE(test::is_judged(PlantedRun().add({.type = "Add", .name = "add"}, long_one).judged(), "jump"));
}

TEST(JumpRule, JudgesAllButBuffersAndListsOfStates) {
  const Sizes sizes = ones(30) + Sizes{100} + ones(5);
  const auto answer = [&](const std::string& type, const std::string& name) {
    return test::planted_in(PlantedRun().add({.type = type, .name = name}, sizes).judged());
  };
  for (const auto& [type, name] : {std::pair{"Linear", "a/forward"},
                                   {"Linear", "a/backward"},
                                   {"Gradient", "a.weight"},
                                   {"Parameter", "a.weight"},
                                   {"ParameterUpdate", "a.weight"},
                                   {"OptimizerState", "a.weight.exp_avg"},
                                   {"Loss", "loss"}}) {
    const std::string tensor = std::string(type) + " " + name;
    EXPECT_EQ(answer(type, name), (std::vector<Planted>{{"jump", tensor, 30, 29, 100, 10}}));
  }
  EXPECT_EQ(answer("ModuleBuffer", "a.running_mean"), std::vector<Planted>{});
  PlantedRun list;
  for (const std::uint32_t slot : {0, 1}) {
    list.add({.type = "OptimizerState", .name = "old_dirs", .slot = slot}, sizes);
  }
  EXPECT_EQ(test::planted_in(list.judged()), std::vector<Planted>{});
}

TEST(JumpRule, LeavesOutRoundingNoise) {
  // 2^-20 of the largest gradient of its step is 100.
  for (const auto& [size, is_found] : {std::pair{99.9, false}, {100.0, true}}) {
    const Findings findings = PlantedRun()
                                  .add({.type = "Gradient", .name = "a.weight"}, ones(20) + Sizes{std::ldexp(100, 20)})
                                  .add({.type = "Gradient", .name = "a.bias"}, ones(20) + Sizes{size})
                                  .judged({{FindingRule::kJump, 50}});
    std::vector<Planted> expected = {{"jump", "Gradient a.weight", 20, 19, std::ldexp(100, 20), 50}};
    expected[0].others = is_found ? 1 : 0;
    EXPECT_EQ(test::planted_in(findings), expected);
  }
}

}  // namespace jump_rule_test
}  // namespace tensorstat
