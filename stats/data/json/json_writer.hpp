// The writer of JSON, in the forms in which this project and other programs write it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tensorstat/statistics.hpp>

namespace tensorstat {

// What stands between values, and in texts.
struct JsonStyle {
  int indent = -1;        // blanks a level, with each value on a line; -1: all on one line
  bool is_ascii = false;  // other characters are escaped
};
inline constexpr JsonStyle kCompactJson;
// As Python's json.dump(indent=1) writes, to the byte. NaN and Infinity are bare there: see python_repr().
inline constexpr JsonStyle kPythonJson{.indent = 1, .is_ascii = true};

// Appends one value after another to the end of a text, which is well formed when each that began has ended.
class JsonWriter {
 public:
  explicit JsonWriter(std::string& to, JsonStyle style = kCompactJson) : to_(to), style_(style) {}

  // The name of the value that follows, in an object.
  JsonWriter& key(std::string_view name);

  JsonWriter& begin_object() { return begin('{', '}'); }
  JsonWriter& begin_list() { return begin('[', ']'); }
  // Each of its values on a line of its own, whatever the style.
  JsonWriter& begin_lines() { return begin('[', kEndOfLines); }
  JsonWriter& end();

  JsonWriter& text(std::string_view text);
  JsonWriter& number(std::uint64_t number);
  // null where there is none, or the text is empty.
  JsonWriter& text_or_null(std::string_view text) { return text.empty() ? null() : this->text(text); }
  JsonWriter& number_or_null(std::optional<std::uint64_t> number) { return number ? this->number(*number) : null(); }
  JsonWriter& truth(bool truth) { return raw(truth ? "true" : "false"); }
  JsonWriter& null() { return raw("null"); }
  // A statistic. JSON has no NaN and no Inf: they are texts, as digests are, and what does not exist is null.
  JsonWriter& value(const Value& value);
  // A value that is JSON already, written for the margin.
  JsonWriter& raw(std::string_view json);

 private:
  static constexpr char kEndOfLines = '\n';

  JsonWriter& begin(char open, char close);
  // Puts what stands in front of a value.
  void separate();
  void begin_line(std::size_t level);

  std::string& to_;
  const JsonStyle style_;
  std::string ends_;  // of what has begun
  bool is_first_ = true, is_behind_key_ = false;
};

// A text with its quotes. What is no UTF-8 becomes U+FFFD. `is_ascii`: everything beyond ASCII is escaped.
void append_json_quoted(std::string& to, std::string_view text, bool is_ascii = false);
std::string json_quoted(std::string_view text, bool is_ascii = false);

// Python's repr of a float: the shortest digits that read back, an exponent below 1e-4 and from 1e16 on; "NaN",
// "Infinity", "-Infinity".
std::string python_repr(double number);

// `text`, which was written for the margin, moved so many columns to the right; its first line stays.
std::string indented(std::string_view text, std::size_t columns);

}  // namespace tensorstat
