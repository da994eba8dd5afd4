// Numbers of any type, compared exactly.
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

// The operator that `text` begins with: > >= < <= == or !=. Else nullptr.
const Operator* operator_at(std::string_view text);

// A number as it is written: whole where it is and has at most 64 bits, so that no digit is lost; any other is the
// nearest binary64. Monostate of what is none, and of NaN.
Value number_from(std::string_view text);

// Unordered where one is NaN; nothing where one is no number.
std::optional<std::partial_ordering> order_of(const Value& a, const Value& b);

// Whether the comparison holds of two numbers in that order; false where there is none.
bool holds(std::optional<std::partial_ordering> order, Comparison comparison);

}  // namespace tensorstat
