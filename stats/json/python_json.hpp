// JSON as Python's json.dump(indent=1) writes it, to the byte: ASCII, one value a line, NaN and Infinity bare.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tensorstat {

// A text with its quotes; everything beyond ASCII is escaped. What is no UTF-8 becomes U+FFFD.
std::string python_quoted(std::string_view text);

// Python's repr of a float: the shortest digits that read back, an exponent below 1e-4 and from 1e16 on; "NaN",
// "Infinity", "-Infinity".
std::string python_repr(double number);

// `text`, which was written for the margin, moved so many columns to the right; its first line stays.
std::string indented(std::string_view text, int columns);

// The values of a list or object in their brackets, for the margin: "[]" where there are none.
class PythonList {
 public:
  explicit PythonList(char open, char close) : open_(open), close_(close) {}
  void add(std::string_view value) {
    text_ += (text_.empty() ? "\n " : ",\n ") + indented(value, 1);
    ++size_;
  }
  void add(std::string_view key, std::string_view value) { add(python_quoted(key) + ": " + std::string(value)); }
  std::size_t size() const { return size_; }
  std::string text() const { return text_.empty() ? std::string{open_, close_} : open_ + text_ + "\n" + close_; }

 private:
  const char open_, close_;
  std::string text_;
  std::size_t size_ = 0;
};
inline PythonList python_array() { return PythonList('[', ']'); }
inline PythonList python_object() { return PythonList('{', '}'); }

}  // namespace tensorstat
