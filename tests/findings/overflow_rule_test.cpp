// The rule "overflow": a value of the forward pass is above half of the greatest of its dtype, below that greatest, and
// was above 0 and below a quarter of that half before.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/planted_run.hpp"

namespace tensorstat {
namespace overflow_rule_test {

using test::Planted;
using test::PlantedRun;
using test::PlantedTensor;
using test::Sizes;

// The greatest finite value of a format with so many bits behind the point.
double greatest_of(int fraction_bits, int exponent) { return std::ldexp(2 - std::ldexp(1, -fraction_bits), exponent); }
double just_above(double value) { return std::nextafter(value, HUGE_VAL); }
double just_below(double value) { return std::nextafter(value, 0); }

std::vector<Planted> answer(const PlantedTensor& tensor, const Sizes& sizes, const FindingLimits& limits = {}) {
  return test::planted_in(PlantedRun().add(tensor, sizes).judged(limits));
}

TEST(OverflowRule, HoldsAtEachBorderOfEachDtype) {
  const std::pair<const char*, double> dtypes[] = {{"float16", greatest_of(10, 15)},
                                                   {"bfloat16", greatest_of(7, 127)},
                                                   {"float32", greatest_of(23, 127)},
                                                   {"float64", greatest_of(52, 1023)}};
  for (const auto& [dtype, end] : dtypes) {
    const PlantedTensor tensor{.type = "Linear", .name = "a/forward", .dtype = dtype};
    const auto found_at = [&, end = end](std::uint64_t first, double value, double share = 0.5) {
      return std::vector<Planted>{{"overflow", "Linear a/forward", first, first - 1, value, share * end}};
    };
    const std::vector<Planted> none;
    SCOPED_TRACE(dtype);
    EXPECT_EQ(answer(tensor, {1, end / 2}), none);
    EXPECT_EQ(answer(tensor, {1, just_above(end / 2)}), found_at(1, just_above(end / 2)));
    EXPECT_EQ(answer(tensor, {1, just_below(end)}), found_at(1, just_below(end)));
    EXPECT_EQ(answer(tensor, {1, end}), none) << "a mask";
    EXPECT_EQ(answer(tensor, {end / 8, end * 0.75}), none);
    EXPECT_EQ(answer(tensor, {just_below(end / 8), end * 0.75}), found_at(1, end * 0.75));
    EXPECT_EQ(answer(tensor, {end * 0.75, end * 0.75}), none) << "as from the beginning";
    EXPECT_EQ(answer(tensor, {0, end * 0.75}), none);
    EXPECT_EQ(answer(tensor, {1, end / 4, end / 4, end * 0.75, end * 0.9}), found_at(3, end * 0.75));
    const FindingLimits quarter = {{FindingRule::kOverflow, 0.25}};
    EXPECT_EQ(answer(tensor, {1, end / 4}, quarter), none);
    EXPECT_EQ(answer(tensor, {end / 16, end * 0.3}, quarter), none);
    EXPECT_EQ(answer(tensor, {just_below(end / 16), end * 0.3}, quarter), found_at(1, end * 0.3, 0.25));
  }
}

// A run may change it, as autocast does.
TEST(OverflowRule, NamesTheDtypeOfTheIteration) {
  const PlantedTensor full{.type = "Linear", .name = "a/forward"};
  PlantedTensor half = full;
  half.dtype = "float16";
  const auto text = [&](double last) {
    const Findings findings = PlantedRun().add(full, {1, 1}).add(half, {1, last}, 2).judged();
    return findings.list.empty() ? findings.verdict.back() : findings.list.front().text;
  };
  EXPECT_TRUE(text(60000).ends_with("and float16 ends at 65504")) << text(60000);
  EXPECT_TRUE(text(6000).ends_with("and float16 ends at 65504")) << text(6000);
}

TEST(OverflowRule, JudgesTheForwardPassOfThoseDtypesAlone) {
  const Sizes sizes = {1, 60000};
  const auto count = [&](PlantedTensor tensor) { return answer(tensor, sizes).size(); };
  EXPECT_EQ(count({.type = "Linear", .name = "a/forward", .io = "input", .dtype = "float16"}), 1u);
  EXPECT_EQ(count({.type = "Linear", .name = "a/backward", .dtype = "float16"}), 0u);
  EXPECT_EQ(count({.type = "Gradient", .name = "a", .dtype = "float16"}), 0u);
  EXPECT_EQ(count({.type = "Parameter", .name = "a", .dtype = "float16"}), 0u);
  EXPECT_EQ(count({.type = "Loss", .name = "loss", .dtype = "float16"}), 0u);
  EXPECT_EQ(count({.type = "Linear", .name = "a/forward", .dtype = "int16"}), 0u);
  EXPECT_EQ(count({.type = "Linear", .name = "a/forward", .dtype = "float8_e5m2"}), 0u);
}

}  // namespace overflow_rule_test
}  // namespace tensorstat
