// One condition on the statistics of a tensor, as --fail-on takes it.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tensorstat/statistics.hpp>
#include <tensorstat/status.hpp>
#include <vector>

namespace tensorstat::cli {

enum class Comparison : std::uint8_t { kAbove, kNotBelow, kBelow, kNotAbove, kEqual, kUnequal };

// A number as a decimal literal says it: 0.digits * 10^point, of no zeros at either end.
struct Decimal {
  bool is_negative = false;
  std::int64_t point = 0;
  std::string digits;  // empty of 0

  static Decimal of(std::uint64_t number);
  static Decimal of(std::int64_t number);
};
std::strong_ordering operator<=>(const Decimal& a, const Decimal& b);

// What a statistic is compared with. A real statistic is binary64, and `max == 0.1` means the binary64 that is nearest
// to 0.1. A whole one is compared with the literal itself: no count is 6.0000000000000000000000001.
struct Bound {
  Value nearest;                      // as number_from gives it
  std::optional<Decimal> exact = {};  // where `nearest` is binary64 and finite
};

// Monostate of what is no number.
Bound bound_from(std::string_view text);

struct Condition {
  std::string text;  // as the user wrote it
  Category category;
  Comparison comparison;
  Bound bound;  // a number
  // Of the words nan and inf: where rows have no such count, max, min, avg and l2norm tell whether there is one.
  bool is_word = false;
};

// What tells of NaN and Inf where nothing counts them.
inline constexpr Category kTelling[] = {Category::kMax, Category::kMin, Category::kAvg, Category::kL2norm};

// "nan,inf,absmax>65504": a list of nan, inf and comparisons of a statistic with a number, by > >= < <= == or !=. inf
// gives two conditions, one for each sign. The errors say what is wrong with which part of the list.
Result<std::vector<Condition>> conditions_from(std::string_view comma_separated);

// Whether the tensor meets the condition. The numbers are compared as Bound says; NaN meets
// != alone, and a value that does not exist meets nothing. The statistic has to be measured.
bool meets(const StatisticsView& statistics, const Condition& condition);

// The statistic by which it was met: the one of the condition, or the first that tells.
Category met_by(const StatisticsView& statistics, const Condition& condition);

// The operator that `text` begins with, or nullptr.
struct Operator {
  std::string_view text;
  Comparison comparison;
};
const Operator* operator_at(std::string_view text);

Error invalid(std::string what);

// A number as it is written: whole where it is and has at most 64 bits, so that no digit is lost; any other is the
// nearest binary64. Monostate of what is none, and of NaN.
Value number_from(std::string_view text);

// Exact, whatever the types; unordered where one is NaN, nothing where one is no number.
std::optional<std::partial_ordering> order_of(const Value& a, const Value& b);
// The same of a literal, which is exact where `a` is a whole number.
std::optional<std::partial_ordering> order_of(const Value& a, const Bound& b);
// Whether the comparison holds of two numbers in that order; false where there is none.
bool holds(std::optional<std::partial_ordering> order, Comparison comparison);

// The conditions that the words nan and inf stand for.
std::vector<Condition> nan_conditions();
std::vector<Condition> inf_conditions();

}  // namespace tensorstat::cli
