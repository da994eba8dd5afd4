// Messages of one call, which a hostile file may make by the million: the first hundred, and how many more there were.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tensorstat {

class FaultList {
 public:
  static constexpr std::size_t kMost = 100;

  void add(std::string words) {
    if (words_.size() == kMost) return static_cast<void>(++more_);
    words_.push_back(std::move(words));
  }

  // With a last line such as "and 5 more errors".
  std::vector<std::string> taken() && {
    if (more_ != 0) words_.push_back("and " + std::to_string(more_) + (more_ == 1 ? " more error" : " more errors"));
    return std::move(words_);
  }

 private:
  std::vector<std::string> words_;
  std::uint64_t more_ = 0;
};

}  // namespace tensorstat
