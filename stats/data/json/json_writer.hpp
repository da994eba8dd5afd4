// Writes JSON in the forms that this project and other programs use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tensorstat/statistics.hpp>

namespace tensorstat {

// The layout of the text.
struct JsonStyle {
  int indent = -1;        // blanks a level, with each value on a line; -1: all on one line
  bool is_ascii = false;  // other characters are escaped
};
inline constexpr JsonStyle kCompactJson;
// As Python's json.dump(indent=1) writes, to the byte. NaN and Infinity are bare there: see python_repr().
inline constexpr JsonStyle kPythonJson{.indent = 1, .is_ascii = true};

// Appends values to the end of `to`, which must outlive it. The text is well formed when each list and object has
// ended.
class JsonWriter {
 public:
  explicit JsonWriter(std::string& to, JsonStyle style = kCompactJson) : to_(to), style_(style) {}

  // The name of the next value, in an object.
  JsonWriter& key(std::string_view name);

  JsonWriter& begin_object() { return begin('{', '}'); }
  JsonWriter& begin_list() { return begin('[', ']'); }
  // Each of its values on a line of its own, whatever the style.
  JsonWriter& begin_lines() { return begin('[', kEndOfLines); }
  JsonWriter& end();

  JsonWriter& text(std::string_view text);
  JsonWriter& number(std::uint64_t number);
  // null if the text is empty, or the number is missing.
  JsonWriter& text_or_null(std::string_view text) { return text.empty() ? null() : this->text(text); }
  JsonWriter& number_or_null(std::optional<std::uint64_t> number) { return number ? this->number(*number) : null(); }
  JsonWriter& truth(bool truth) { return raw(truth ? "true" : "false"); }
  JsonWriter& null() { return raw("null"); }
  // A statistic. JSON has no NaN and no Inf, so they are strings, as digests are; a missing value is null.
  JsonWriter& value(const Value& value);
  // A value that is JSON already, indented from column 0.
  JsonWriter& raw(std::string_view json);

 private:
  static constexpr char kEndOfLines = '\n';

  JsonWriter& begin(char open, char close);
  // Writes the comma, the line end or the indent before a value.
  void separate();
  void begin_line(std::size_t level);

  std::string& to_;
  const JsonStyle style_;
  std::string ends_;  // the closing characters still to be written
  bool is_first_ = true, is_behind_key_ = false;
};

// Quotes a text. Invalid UTF-8 becomes U+FFFD. `is_ascii`: escapes everything beyond ASCII.
void append_json_quoted(std::string& to, std::string_view text, bool is_ascii = false);
std::string json_quoted(std::string_view text, bool is_ascii = false);

// Python's repr of a float: the shortest digits that read back, an exponent below 1e-4 and from 1e16 on; "NaN",
// "Infinity", "-Infinity".
std::string python_repr(double number);

// `text`, indented from column 0, moved `columns` to the right; its first line stays.
std::string indented(std::string_view text, std::size_t columns);

}  // namespace tensorstat
