// Compares numbers of any types exactly.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tensorstat/statistics.hpp>

namespace tensorstat {

enum class Comparison : std::uint8_t { kAbove, kNotBelow, kBelow, kNotAbove, kEqual, kUnequal };

struct Operator {
  std::string_view text;  // ">="
  Comparison comparison;
};

// The operator at the beginning of `text`: > >= < <= == or !=. nullptr if there is none.
const Operator* operator_at(std::string_view text);

// Parses a number. A whole number of at most 64 bits is an integer, so no digit is lost; any other is the nearest
// binary64. monostate for anything else, and for NaN.
Value number_from(std::string_view text);

// unordered if one is NaN; nullopt if one is no number.
std::optional<std::partial_ordering> order_of(const Value& a, const Value& b);

// Whether the comparison is true for two numbers with this order; false for nullopt.
bool holds(std::optional<std::partial_ordering> order, Comparison comparison);

}  // namespace tensorstat
