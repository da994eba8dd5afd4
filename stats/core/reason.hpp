// Why something is computed where it is.
#pragma once

#include <string>
#include <string_view>
#include <utility>

namespace tensorstat {

// A text that most often is a literal, which costs no allocation.
class Reason {
 public:
  Reason(const char* literal = "") : literal_(literal) {}
  Reason(std::string made) : made_(std::move(made)) {}
  std::string_view text() const { return made_.empty() ? literal_ : std::string_view(made_); }
  friend bool operator==(const Reason& a, const Reason& b) { return a.text() == b.text(); }

 private:
  std::string_view literal_;
  std::string made_;
};

}  // namespace tensorstat
