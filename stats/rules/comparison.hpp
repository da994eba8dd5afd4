// Numbers of any type, compared exactly.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tensorstat/statistics.hpp>

namespace tensorstat {

enum class Comparison : std::uint8_t { kAbove, kNotBelow, kBelow, kNotAbove, kEqual, kUnequal };

struct Operator {
  std::string_view text;  // ">="
  Comparison comparison;
};

// The operator that `text` begins with: > >= < <= == or !=. Else nullptr.
const Operator* operator_at(std::string_view text);

// A number as it is written: whole where it is and has at most 64 bits, so that no digit is lost; any other is the
// nearest binary64. Monostate of what is none, and of NaN.
Value number_from(std::string_view text);

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

// Unordered where one is NaN; nothing where one is no number.
std::optional<std::partial_ordering> order_of(const Value& a, const Value& b);
// The same of a literal, which is exact where `a` is a whole number.
std::optional<std::partial_ordering> order_of(const Value& a, const Bound& b);

// Whether the comparison holds of two numbers in that order; false where there is none.
bool holds(std::optional<std::partial_ordering> order, Comparison comparison);

}  // namespace tensorstat
