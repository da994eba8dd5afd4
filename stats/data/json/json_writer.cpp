#include "stats/data/json/json_writer.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

namespace tensorstat {
namespace {

void append_indented(std::string& to, std::string_view text, std::size_t columns) {
  for (std::size_t end; (end = text.find('\n')) != text.npos; text.remove_prefix(end + 1)) {
    to.append(text, 0, end + 1).append(columns, ' ');
  }
  to += text;
}

}  // namespace

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  append_json_quoted(to_, name, style_.is_ascii);
  to_ += style_.indent < 0 ? ":" : ": ";
  is_behind_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::begin(char open, char close) {
  separate();
  to_ += open;
  ends_ += close;
  is_first_ = true;
  return *this;
}

JsonWriter& JsonWriter::end() {
  const char close = ends_.back();
  ends_.pop_back();
  if (style_.indent >= 0 && !is_first_) begin_line(ends_.size());
  to_ += close == kEndOfLines ? ']' : close;
  is_first_ = false;
  return *this;
}

JsonWriter& JsonWriter::text(std::string_view text) {
  separate();
  append_json_quoted(to_, text, style_.is_ascii);
  return *this;
}

JsonWriter& JsonWriter::number(std::uint64_t number) {
  separate();
  char digits[20];
  to_.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
  return *this;
}

JsonWriter& JsonWriter::raw(std::string_view json) {
  separate();
  append_indented(to_, json, style_.indent < 0 ? 0 : ends_.size() * static_cast<std::size_t>(style_.indent));
  return *this;
}

// Writes the shortest digits, which JSON libraries do not always do. -0 becomes "-0.0": many readers take "-0" for an
// integer and lose its sign.
JsonWriter& JsonWriter::value(const Value& value) {
  if (std::holds_alternative<std::monostate>(value)) return null();
  if (const auto* natural = std::get_if<std::uint64_t>(&value)) return number(*natural);
  if (const auto* exponents = std::get_if<Exponents>(&value)) {
    const ExponentCounts& counts = **exponents;
    begin_object()
        .key("zero")
        .number(counts.zero)
        .key("subnormal")
        .number(counts.subnormal)
        .key("binades")
        .begin_object();
    for (const auto& [exponent, count] : counts.binades) key(std::to_string(exponent)).number(count);
    return end().key("inf").number(counts.inf).key("nan").number(counts.nan).end();
  }
  const auto* real = std::get_if<double>(&value);
  const std::string words = to_string(value);
  if (words == "-0") return raw("-0.0");
  return std::holds_alternative<Digest>(value) || (real && !std::isfinite(*real)) ? text(words) : raw(words);
}

void JsonWriter::separate() {
  if (is_behind_key_) {
    is_behind_key_ = false;
  } else if (!ends_.empty()) {
    if (!is_first_) to_ += ',';
    if (style_.indent >= 0 || ends_.back() == kEndOfLines) begin_line(ends_.size());
  }
  is_first_ = false;
}

void JsonWriter::begin_line(std::size_t level) {
  to_ += '\n';
  if (style_.indent > 0) to_.append(level * static_cast<std::size_t>(style_.indent), ' ');
}

void append_json_quoted(std::string& to, std::string_view text, bool is_ascii) {
  const bool is_plain =
      std::ranges::all_of(text, [](char c) { return c >= ' ' && c < '\x7f' && c != '"' && c != '\\'; });
  if (is_plain) {
    to.append(1, '"').append(text).append(1, '"');
  } else {
    using Json = nlohmann::json;
    to += Json(std::string(text)).dump(-1, ' ', is_ascii, Json::error_handler_t::replace);
  }
}

std::string json_quoted(std::string_view text, bool is_ascii) {
  std::string quoted;
  append_json_quoted(quoted, text, is_ascii);
  return quoted;
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

std::string indented(std::string_view text, std::size_t columns) {
  std::string moved;
  moved.reserve(text.size() + text.size() / 4);
  append_indented(moved, text, columns);
  return moved;
}

}  // namespace tensorstat
