// A rule means what rule.hpp says: words, exact comparisons, globs, and/or/not, windows and "for N steps". An unknown
// condition meets nothing, nor does its negation.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "stats/data/rules/rule.hpp"

namespace tensorstat {
namespace rule_answers_test {

TensorRow row_with(Value max, std::uint64_t nan_count = 0, const std::string& dtype = "float16") {
  TensorRow row;
  row.path = "/runs/a.npy";
  row.tensor = "layer.weight";
  row.row.data_type = dtype;
  row.row.shape = {2, 3};
  row.row.statistics = Statistics({Category::kMax, Category::kNanCount}, {std::move(max), Value(nan_count)});
  return row;
}

TEST(RuleAnswers, OfOneRow) {
  const TensorRow row = row_with(70000.0, 2);
  for (const auto& [text, is_met] :
       std::vector<std::pair<const char*, bool>>{{"nan", true},
                                                 {"inf", false},
                                                 {"not nan", false},
                                                 {"not not nan", true},
                                                 {"max > 65504", true},
                                                 {"max > 70000", false},
                                                 {"max >= 70000", true},
                                                 {"max < 70000", false},
                                                 {"max <= 70000", true},
                                                 {"max == 7e4", true},
                                                 {"max != 70000", false},
                                                 {"nan count == 2", true},
                                                 {"nan-count > 1 and max > 1", true},
                                                 {"nan count > 2 or max > 1", true},
                                                 {"nan count > 2 and max > 1 or dtype == float16", true},
                                                 {"nan count > 2 and (max > 1 or dtype == float16)", false},
                                                 {"dtype == float16", true},
                                                 {"dtype != float16", false},
                                                 {"dtype ~ float*", true},
                                                 {"dtype ~ int*", false},
                                                 {"tensor ~ '*.weight'", true},
                                                 {"tensor == weight", false},
                                                 {"shape == '(2,3)'", true},
                                                 {"min > 0", false},  // the row has none
                                                 {"min <= 0", false},
                                                 {"min != 0", false},
                                                 {"md5 == ''", false},
                                                 {"md5 != 0", false},
                                                 {"md5 ~ '*'", false},
                                                 {"op_name != a", true},
                                                 {"max > 30000 * nan count", true},
                                                 {"max > 40000 * nan count", false},
                                                 {"max > nan count", true},
                                                 {"max <= nan count and not inf", false},
                                                 {"max < inf", true},
                                                 {"max < inf and nan", true}}) {
    const auto rule = Rule::parse(text);
    ASSERT_TRUE(rule) << text << ": " << rule.error().message;
    EXPECT_EQ(rule->is_met_by(row), is_met) << text;
  }
}

// Neighbours that are one number in binary64.
TEST(RuleAnswers, OfIntegersAreExact) {
  const TensorRow row = row_with(std::uint64_t{9007199254740993});
  EXPECT_TRUE(Rule::parse("max > 9007199254740992")->is_met_by(row));
  EXPECT_TRUE(Rule::parse("max == 9007199254740993")->is_met_by(row));
  EXPECT_FALSE(Rule::parse("max <= 9007199254740992")->is_met_by(row));
}

TEST(RuleAnswers, ANumberOfNanMeetsOnlyUnequal) {
  const TensorRow row = row_with(double{NAN});
  for (const char* sign : {"<", "<=", ">", ">=", "==", "!="}) {
    EXPECT_EQ(Rule::parse("max " + std::string(sign) + " 1")->is_met_by(row), std::string(sign) == "!=") << sign;
  }
}

TEST(RuleAnswers, TheRightSideOfAPairMayBeACount) {
  for (const char* text : {"nan b > nan a", "inf a != inf b", "max b > inf a"}) {
    const auto rule = Rule::parse(text, About::kPairs);
    EXPECT_TRUE(rule) << text << ": " << rule.error().message;
  }
}

TEST(RuleAnswers, WithoutASenseAreErrorsThatNameThePlace) {
  for (const char* text : {"", "max", "max >", "max > 1 and", "(max > 1", "max > 1)", "wurst > 1", "dtype > 1",
                           "max ~ 1", "max > 1 for 0 steps", "max > previous(max)", "differs over dp", "max > 1 max"}) {
    EXPECT_FALSE(Rule::parse(text)) << text;
  }
  EXPECT_TRUE(Rule::parse("max > previous(max)", About::kTensors, Earlier::kKept));
  EXPECT_FALSE(Rule::parse("differs over dp", About::kTensors, Earlier::kKept));
  EXPECT_TRUE(Rule::parse("differs over dp", About::kTensors, Earlier::kKeptWithReplicas));
}

// The answers for a tensor's rows one after another, + for met.
std::string answers(const char* text, const std::vector<double>& series) {
  const auto rule = Rule::parse(text, About::kTensors, Earlier::kKept);
  if (!rule) return rule.error().message;
  EXPECT_TRUE(rule->keeps_rows()) << text;
  RulePast past = rule->new_past();
  std::string met;
  for (const double max : series) met += rule->is_met_by(row_with(max), past) ? '+' : '-';
  return met;
}

TEST(RuleAnswers, OfRowsOneAfterAnother) {
  EXPECT_EQ(answers("max > previous(max)", {1, 2, 2, 1, 3}), "-+--+");
  EXPECT_EQ(answers("not max > previous(max)", {1, 2, 2, 1, 3}), "--++-");
  EXPECT_EQ(answers("max > previous(max, 2)", {1, 2, 3, 1, 9}), "--+-+");
  EXPECT_EQ(answers("max > 2 * median(max, 3)", {1, 1, 1, 3, 2, 3}), "---+--");
  EXPECT_EQ(answers("max > 1 for 3 steps", {2, 2, 2, 2, 1, 2, 2, 2}), "--++---+");
  EXPECT_EQ(answers("not (max > 1 for 2 steps)", {2, 1, 2, 2}), "-++-");
  EXPECT_EQ(answers("max > 5 or max > previous(max)", {9, 1, 2}), "+-+");
  // The first answer of the window is unknown, and so is what asks for it.
  EXPECT_EQ(answers("not (max > previous(max) for 2 steps)", {1, 2, 3, 4, 1, 2}), "----++");
  EXPECT_EQ(answers("not ((max > 1 for 2 steps) for 2 steps)", {2, 2, 2, 1, 2, 2, 2}), "---+++-");
}

}  // namespace rule_answers_test
}  // namespace tensorstat
