// The iteration key selects the steps that its grammar gives, and refuses all other texts.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "stats/job/dump/mindspore/iterations.hpp"

namespace tensorstat {
namespace iteration_test {

std::set<int> selected(const std::string& text) {
  const auto iterations = Iterations::parse(text);
  EXPECT_TRUE(iterations) << text;
  std::set<int> steps;
  for (int step = 0; iterations && step < 200; ++step) {
    if (iterations->contains(static_cast<std::uint64_t>(step))) steps.insert(step);
  }
  return steps;
}

std::set<int> range(int first, int last, std::set<int> steps = {}) {
  for (int step = first; step <= last; ++step) steps.insert(step);
  return steps;
}

TEST(Iteration, SelectsStepsAndRanges) {
  const auto documented = range(100, 120, range(5, 8, {0}));
  EXPECT_EQ(selected("0|5-8|100-120"), documented);
  EXPECT_EQ(selected("0 | 5-8 | 100-120"), documented) << "as the documentation writes it";
  EXPECT_EQ(selected(" 0|5 - 8|100 -120 "), documented);
  EXPECT_EQ(selected("all"), range(0, 199));
  EXPECT_EQ(selected("5"), range(5, 5));
  EXPECT_EQ(selected("7-7"), range(7, 7));
  EXPECT_EQ(selected("5-9|7|8-12|12|14"), range(5, 12, {14}));
}

TEST(Iteration, PartsThatSayNothingSelectNothing) {
  EXPECT_EQ(selected("0||3"), (std::set<int>{0, 3}));
  for (const char* text :
       {"5-", "-5", "3-1", "1-2-3", "|", "-", "--", " ", "1--2", "18446744073709551616", "1-18446744073709551616"}) {
    EXPECT_EQ(selected(text), std::set<int>{}) << text;
    EXPECT_NE(Iterations::parse(text)->useless_part(), nullptr) << text;
  }
  EXPECT_EQ(*Iterations::parse("1|5-|2")->useless_part(), "5-");
  EXPECT_EQ(Iterations::parse("1|2")->useless_part(), nullptr);
}

TEST(Iteration, RefusesOtherCharactersWithWords) {
  for (const char* text : {"", "All", "ALL", "all|5", "0,5", "0|a", "5 6", "1 2-3", "0\t", "+5", "1.5"}) {
    const auto iterations = Iterations::parse(text);
    ASSERT_FALSE(iterations) << text;
    EXPECT_NE(iterations.error().message.find("\"all\""), std::string::npos);
  }
}

TEST(Iteration, EveryStepOf64Bits) {
  const auto last = Iterations::parse("18446744073709551615");
  EXPECT_TRUE(last->contains(~std::uint64_t{0}));
  EXPECT_FALSE(last->contains(~std::uint64_t{0} - 1));
  EXPECT_TRUE(Iterations::parse("all")->contains(~std::uint64_t{0}));
  EXPECT_TRUE(Iterations::parse("all")->all());
  EXPECT_FALSE(last->all());
}

TEST(Iteration, AgreesWithASetOnRandomTexts) {
  const unsigned seed = std::random_device{}();
  std::mt19937 random(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (int round = 0; round < 300; ++round) {
    std::string text;
    std::set<int> steps;
    const int parts = 1 + static_cast<int>(random() % 12);
    for (int part = 0; part < parts; ++part) {
      const int first = static_cast<int>(random() % 190), last = static_cast<int>(random() % 190);
      const bool single = random() % 2 == 0;
      text += (part == 0 ? "" : "|") + std::to_string(first);
      if (!single) text += "-" + std::to_string(last);
      steps = range(first, single ? first : last, std::move(steps));
    }
    EXPECT_EQ(selected(text), steps) << text;
  }
}

}  // namespace iteration_test
}  // namespace tensorstat
