// The reason for a placement, as a text.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace tensorstat {

// A text. A literal costs no allocation. Copies of any other text share it, and its address does not change.
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
