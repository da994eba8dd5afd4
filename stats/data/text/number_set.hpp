// A set of whole numbers, such as steps and ranks, kept as ranges.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace tensorstat {

class NumberSet {
 public:
  using Range = std::pair<std::uint64_t, std::uint64_t>;  // inclusive

  NumberSet() = default;  // empty
  // `ranges` may overlap and be in any order.
  explicit NumberSet(std::vector<Range> ranges) : ranges_(std::move(ranges)) {
    std::sort(ranges_.begin(), ranges_.end());
    std::size_t kept = 0;
    for (const Range& range : ranges_) {
      if (kept != 0 && range.first <= ranges_[kept - 1].second) {
        ranges_[kept - 1].second = std::max(ranges_[kept - 1].second, range.second);
      } else {
        ranges_[kept++] = range;
      }
    }
    ranges_.resize(kept);
  }
  static NumberSet every() { return NumberSet({{0, kLast}}); }

  // About a nanosecond for one range, a binary search for many.
  bool contains(std::uint64_t number) const {
    const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), Range(number, kLast));
    return after != ranges_.begin() && number <= std::prev(after)->second;
  }
  const std::vector<Range>& ranges() const { return ranges_; }  // disjoint, ascending
  bool all() const { return ranges_.size() == 1 && ranges_[0] == Range(0, kLast); }

 private:
  static constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max();
  std::vector<Range> ranges_;  // disjoint, ascending
};

}  // namespace tensorstat
