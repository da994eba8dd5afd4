// The names that a mistyped one is answered with.
#include "stats/core/base/nearest_names.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace tensorstat {
namespace {

using Names = std::vector<std::string>;

std::string nearest(std::string_view typed, const Names& names) { return nearest_names(typed, names)[0]; }

// A name of two other letters stands before the right one. It would be chosen if the right one was not nearer.
TEST(NearestNames, TheFewestLettersToChangeInsertLeaveOutOrExchange) {
  EXPECT_EQ(nearest("mux", {"ban", "max"}), "max");
  EXPECT_EQ(nearest("mx", {"nb", "max"}), "max");
  EXPECT_EQ(nearest("mavx", {"mabc", "max"}), "max");
  EXPECT_EQ(nearest("bacd", {"bayy", "abcd"}), "abcd");
  EXPECT_EQ(nearest_names("mux", Names{"l2norm", "avg", "min", "max"}),
            (Names{"max", "min", "avg"}));  // three of them: 1, 2 and 3 letters
}

TEST(NearestNames, LettersOfBothCasesAndSeparatorsAreAlike) {
  EXPECT_EQ(nearest("MAX", {"max2", "max"}), "max");
  EXPECT_EQ(nearest("AZ", {"ax", "az"}), "az");
  EXPECT_EQ(nearest("AZ", {"xz", "az"}), "az");
  EXPECT_EQ(nearest("a-b", {"axb", "a b"}), "a b");
  EXPECT_EQ(nearest("a b", {"axb", "a_b"}), "a_b");
}

TEST(NearestNames, ANameThatHoldsThreeLettersOrIsHeldByThemIsOneLetterAway) {
  EXPECT_EQ(nearest("nor", {"nab", "l2norm"}), "l2norm");
  EXPECT_EQ(nearest("min of all", {"man of alx", "min"}), "min");
  EXPECT_EQ(nearest("no", {"ab", "l2norm"}), "ab");
}

TEST(NearestNames, OfEqualOnesTheFirstInTheList) {
  EXPECT_EQ(nearest_names("", Names{"b", "a", "c", "d"}), (Names{"b", "a", "c"}));
  EXPECT_EQ(nearest_names("x", Names{"a"}), Names{"a"});
  EXPECT_TRUE(nearest_names("x", {}).empty());
}

TEST(NearestNames, LongNamesAreComparedUpTo64Letters) {
  const std::string start(64, 'a');
  EXPECT_EQ(nearest(start + "x", {start + "y", start + "x"}), start + "y");
  EXPECT_EQ(nearest(start.substr(1) + "x", {start.substr(1) + "y", start.substr(1) + "x"}), start.substr(1) + "x");
}

}  // namespace
}  // namespace tensorstat
