#include "stats/json/json_value.hpp"

#include <cmath>

namespace tensorstat {

namespace {

std::string json_of(const ExponentCounts& counts) {
  std::string binades;
  for (const auto& [exponent, count] : counts.binades) {
    binades += (binades.empty() ? "\"" : ",\"") + std::to_string(exponent) + "\":" + std::to_string(count);
  }
  return "{\"zero\":" + std::to_string(counts.zero) + ",\"subnormal\":" + std::to_string(counts.subnormal) +
         ",\"binades\":{" + binades + "},\"inf\":" + std::to_string(counts.inf) + ",\"nan\":" + std::to_string(counts.nan) + "}";
}

}  // namespace

// The library's own digits, not those of a library for JSON, which are not always the shortest; but -0 would be an integer to many
// readers, and lose its sign.
std::string json_of(const Value& value) {
  if (std::holds_alternative<std::monostate>(value)) return "null";
  if (const auto* exponents = std::get_if<Exponents>(&value)) return json_of(**exponents);
  const auto* real = std::get_if<double>(&value);
  const bool is_word = std::holds_alternative<Digest>(value) || (real && !std::isfinite(*real));
  const std::string text = to_string(value);
  if (text == "-0") return "-0.0";
  return is_word ? '"' + text + '"' : text;
}

}  // namespace tensorstat
