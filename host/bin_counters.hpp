// Counters of bins, which are lent, and kept for the next request: they are large.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "stats/engine/quantile_bins.hpp"

namespace tensorstat::host {

class BinCounters {
 public:
  struct GiveBack {
    BinCounters* to = nullptr;
    void operator()(BinCounter* counter) const noexcept { to->take_back(counter); }
  };
  using Lent = std::unique_ptr<BinCounter, GiveBack>;

  // Open for the dtype. Throws where there is no memory.
  Lent lend(Dtype dtype) {
    std::unique_ptr<BinCounter> counter;
    if (const std::unique_lock lock(mutex_, std::try_to_lock); lock && !idle_.empty()) {
      counter = std::move(idle_.back());
      idle_.pop_back();
    }
    if (!counter) counter = std::make_unique<BinCounter>();
    counter->open(dtype);
    return Lent(counter.release(), {this});
  }

 private:
  static constexpr std::size_t kMostKept = 64;

  void take_back(BinCounter* lent) noexcept {
    std::unique_ptr<BinCounter> counter(lent);
    counter->clear();
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || idle_.size() == kMostKept) return;
    try {
      idle_.push_back(std::move(counter));
    } catch (...) {  // then it is not kept
    }
  }

  std::mutex mutex_;  // not waited for: in a child of fork() a thread that is not there may hold it
  std::vector<std::unique_ptr<BinCounter>> idle_;
};

}  // namespace tensorstat::host
