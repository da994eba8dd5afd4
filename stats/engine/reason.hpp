// Why something is computed where it is.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace tensorstat {

// A text that most often is a literal, which costs no allocation. Copies share another one, and it stays where it is.
class Reason {
 public:
  Reason(const char* literal = "") : text_(literal) {}
  Reason(std::string made) : made_(std::make_shared<const std::string>(std::move(made))), text_(*made_) {}
  std::string_view text() const { return text_; }
  friend bool operator==(const Reason& a, const Reason& b) { return a.text() == b.text(); }

 private:
  std::shared_ptr<const std::string> made_;
  std::string_view text_;
};

}  // namespace tensorstat
