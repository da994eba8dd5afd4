#include "stats/json/python_json.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

namespace tensorstat {

std::string python_quoted(std::string_view text) {
  using Json = nlohmann::json;
  return Json(std::string(text)).dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::string python_repr(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, number, std::chars_format::scientific).ptr;
  std::string text(buffer, end);
  const auto e = text.find('e');
  int exponent = 0;
  const char* digits_of_exponent = text.data() + e + (text[e + 1] == '+' ? 2 : 1);
  std::from_chars(digits_of_exponent, text.data() + text.size(), exponent);
  if (exponent < -4 || exponent >= 16) return text;  // both write the exponent with a sign and two digits at least
  std::string digits = text.substr(0, e);
  const std::string sign = digits.front() == '-' ? "-" : "";
  std::erase_if(digits, [](char c) { return c == '.' || c == '-'; });
  if (exponent < 0) return sign + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  const auto whole = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() <= whole) return sign + digits + std::string(whole - digits.size(), '0') + ".0";
  return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

std::string indented(std::string_view text, int columns) {
  std::string moved;
  moved.reserve(text.size() + text.size() / 4);
  for (const char c : text) {
    moved += c;
    if (c == '\n') moved.append(static_cast<std::size_t>(columns), ' ');
  }
  return moved;
}

}  // namespace tensorstat
