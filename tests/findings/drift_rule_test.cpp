// The rule "drift": a size is above 10 times the median of its values older than 50 iterations (there are at least
// 150), twice as far from it in logarithms as the greatest of them or 50 times that greatest. An input of the model has
// its first 20 values instead, and is above five times in a row.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/planted_run.hpp"

namespace tensorstat {
namespace drift_rule_test {

using test::growing;
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

// The growth begins behind the last value that is not above the old ones.
std::size_t begin_of_growth(const Sizes& sizes) {
  const double greatest = *std::max_element(sizes.begin(), sizes.begin() + 150);
  std::size_t begin = sizes.size();
  while (sizes[begin - 1] > greatest) --begin;
  return begin;
}

TEST(DriftRule, HoldsAtEachBorder) {
  const Case cases[] = {
      {"10 times is not above 10 times", ones(150) + growing(50, 9), 10, 0},
      {"above 10 times", ones(150) + growing(50, 9), 10.01, 10},
      {"149 values are too few", ones(149) + growing(50, 9), 1000, 0},
      {"another limit", ones(150) + growing(50, 2.9), 3.01, 3, {{FindingRule::kDrift, 3}}},
      {"twice as far as 4 is 16", Sizes{4} + ones(149) + growing(50, 9), 16, 0},
      {"above twice as far", Sizes{4} + ones(149) + growing(50, 9), 16.01, 16},
      {"50 times 60 is less than twice as far", Sizes{60} + ones(149) + growing(50, 2500), 3000, 0},
      {"above 50 times the greatest", Sizes{60} + ones(149) + growing(50, 2500), 3000.1, 3000},
      {"9 is older than 50 iterations", ones(149) + Sizes{9} + growing(50, 9), 10.01, 0},
      {"9 is not older than 50 iterations", ones(150) + Sizes{9} + growing(49, 9), 10.01, 10},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.why);
    const std::size_t first = each.before.size();
    FindingLimits limits = each.limits;
    limits[FindingRule::kJump] = 1e9;
    const Findings findings =
        PlantedRun().add({.type = "Linear", .name = "a/forward"}, each.before + Sizes{each.size}).judged(limits);
    EXPECT_EQ(test::is_judged(findings, "drift"), first >= 200);
    std::vector<Planted> expected;
    if (each.limit != 0) expected = {{"drift", "Linear a/forward", first, first - 1, each.size, each.limit}};
    EXPECT_EQ(test::planted_in(findings), expected);
    if (findings.list.empty()) continue;
    const std::string end = "and began at iteration " + std::to_string(begin_of_growth(each.before));
    EXPECT_TRUE(findings.list[0].text.ends_with(end)) << findings.list[0].text;
  }
}

TEST(DriftRule, AGrowthMayBeginBeforeTheFirstOldValues) {
  for (const std::size_t quiet : {1, 40}) {
    const Sizes sizes = ones(quiet) + growing(200 - quiet, 60) + Sizes{1000};
    const Findings findings =
        PlantedRun().add({.type = "Linear", .name = "a/forward"}, sizes).judged({{FindingRule::kJump, 1e9}});
    ASSERT_EQ(findings.list.size(), 1u);
    EXPECT_TRUE(findings.list[0].text.ends_with("and began at iteration " + std::to_string(quiet)))
        << findings.list[0].text;
  }
}

TEST(DriftRule, JudgesNeitherBuffersNorUpdatesNorAJumpThatStays) {
  const Sizes sizes = ones(150) + growing(50, 9) + Sizes{10.01};
  const auto answer = [](const char* type, const char* name, const Sizes& sizes) {
    return test::planted_in(PlantedRun().add({.type = type, .name = name}, sizes).judged());
  };
  EXPECT_EQ(answer("Gradient", "w", sizes), (std::vector<Planted>{{"drift", "Gradient w", 200, 199, 10.01, 10}}));
  EXPECT_EQ(answer("ModuleBuffer", "w", sizes), std::vector<Planted>{});
  EXPECT_EQ(answer("ParameterUpdate", "w", sizes), std::vector<Planted>{});
  EXPECT_EQ(answer("Gradient", "w", ones(210) + Sizes(60, 11)),
            (std::vector<Planted>{{"jump", "Gradient w", 210, 209, 11, 10}}));
}

TEST(DriftRule, AnInputOfTheModelIsHeldAgainstItsFirstTwentyValues) {
  const PlantedTensor input{.type = "Net", .name = "Net/forward", .io = "input"};
  PlantedTensor output = input, inner = input, indices = input;
  output.io = "output";
  inner.name = "layer/forward";
  indices.dtype = "int64";
  const Sizes fives = ones(20) + Sizes(30, 5), more = Sizes(5, 10.01);
  const auto answer = [](const PlantedTensor& tensor, const Sizes& sizes) {
    return test::planted_in(PlantedRun().add(tensor, sizes).judged());
  };
  const std::vector<Planted> none;
  EXPECT_EQ(answer(input, fives + more), (std::vector<Planted>{{"drift", "Net Net/forward", 54, 53, 10.01, 10}}));
  EXPECT_EQ(answer(input, fives + Sizes(5, 10)), none);
  EXPECT_EQ(answer(input, fives + Sizes(4, 10.01)), none);
  EXPECT_EQ(answer(input, fives + Sizes(4, 10.01) + Sizes{5} + Sizes(4, 10.01)), none);
  EXPECT_EQ(answer(input, ones(19) + Sizes(31, 5) + more), none) << "5 is among the first 20";
  EXPECT_EQ(answer(output, fives + more), none);
  EXPECT_EQ(answer(inner, fives + more), none);
  EXPECT_EQ(answer(indices, fives + more), none);
}

}  // namespace drift_rule_test
}  // namespace tensorstat
