// Compares numbers of any types exactly.
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

// The operator at the beginning of `text`: > >= < <= == or !=. nullptr: `text` begins with none of them.
const Operator* operator_at(std::string_view text);

// Parses a number. A whole number of at most 64 bits is an integer, so no digit is lost; any other is the nearest
// binary64. monostate for anything else, and for NaN.
Value number_from(std::string_view text);

// A decimal literal: 0.digits * 10^point, without zeros at either end.
struct Decimal {
  bool is_negative = false;
  std::int64_t point = 0;
  std::string digits;  // empty for 0

  static Decimal of(std::uint64_t number);
  static Decimal of(std::int64_t number);
};
std::strong_ordering operator<=>(const Decimal& a, const Decimal& b);

// The number that a statistic is compared with. A real statistic is compared with the nearest binary64: `max == 0.1`
// asks for the binary64 nearest to 0.1. An integer is compared with the literal itself: no count is
// 6.0000000000000000000000001.
struct Bound {
  Value nearest;                      // as number_from gives it
  std::optional<Decimal> exact = {};  // set if `nearest` is binary64 and finite
};

// `nearest` is monostate if the text is not a number.
Bound bound_from(std::string_view text);

// A number as the nearest binary64; nullopt for a digest, a list or a missing value.
std::optional<double> as_double(const Value& value);
// Also takes a null pointer, which find() returns for a missing statistic.
inline std::optional<double> as_double(const Value* value) {
  return value == nullptr ? std::nullopt : as_double(*value);
}

// unordered if one is NaN; nullopt if one is not a number.
std::optional<std::partial_ordering> order_of(const Value& a, const Value& b);
// Compares with a literal: exactly, if `a` is a whole number.
std::optional<std::partial_ordering> order_of(const Value& a, const Bound& b);

// The greater absolute value: absmax of max and min. NaN if either is NaN; monostate if one is not a number.
Value greater_size(const Value& a, const Value& b);
// Adds absmax to statistics that have max and min, and have not absmax.
void add_absmax(Statistics& statistics);

// Whether the comparison is true for two numbers with this order; false for nullopt.
bool holds(std::optional<std::partial_ordering> order, Comparison comparison);

}  // namespace tensorstat
