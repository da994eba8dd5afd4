// Steps with complete files. They are not begun again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <utility>

namespace tensorstat {

// Remembers the latest `most` steps by number. For older steps it keeps only the lowest and highest iteration of each
// rank. If add() throws, nothing has changed.
class ClosedSteps {
 public:
  explicit ClosedSteps(std::size_t most) : most_(most) {}

  void add(std::uint32_t rank, std::uint64_t iteration) {
    if (order_.size() >= most_) forget_oldest();
    const auto [step, is_new] = known_.emplace(rank, iteration);
    if (!is_new) return;
    try {
      order_.push_back(*step);
    } catch (...) {
      known_.erase(step);
      throw;
    }
  }

  bool has(std::uint32_t rank, std::uint64_t iteration) const { return known_.contains({rank, iteration}); }

  // Whether it may be an older step. Its file then gives the answer.
  bool may_have_had(std::uint32_t rank, std::uint64_t iteration) const {
    const auto span = forgotten_.find(rank);
    return span != forgotten_.end() && span->second.first <= iteration && iteration <= span->second.second;
  }

 private:
  using Step = std::pair<std::uint32_t, std::uint64_t>;  // rank, iteration

  void forget_oldest() {
    const auto [rank, iteration] = order_.front();
    auto& [least, greatest] = forgotten_.try_emplace(rank, iteration, iteration).first->second;
    least = std::min(least, iteration);
    greatest = std::max(greatest, iteration);
    known_.erase(order_.front());
    order_.pop_front();
  }

  const std::size_t most_;
  std::set<Step> known_;
  std::deque<Step> order_;  // the oldest first
  std::map<std::uint32_t, std::pair<std::uint64_t, std::uint64_t>> forgotten_;
};

}  // namespace tensorstat
