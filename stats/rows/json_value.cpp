#include "stats/rows/json_value.hpp"

#include <cmath>

namespace tensorstat {

// The library's own digits, not those of a library for JSON, which are not always the shortest; but -0 would be an integer to many
// readers, and lose its sign.
std::string json_of(const Value& value) {
  if (std::holds_alternative<std::monostate>(value)) return "null";
  const auto* real = std::get_if<double>(&value);
  const bool is_word = std::holds_alternative<Digest>(value) || (real && !std::isfinite(*real));
  const std::string text = to_string(value);
  if (text == "-0") return "-0.0";
  return is_word ? '"' + text + '"' : text;
}

}  // namespace tensorstat
