// A pool of bin counters. They are large, so they are reused for the next request.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "stats/core/engine/quantile_bins.hpp"

namespace tensorstat::host {

class BinCounters {
 public:
  struct GiveBack {
    BinCounters* to = nullptr;
    void operator()(BinCounter* counter) const noexcept { to->take_back(counter); }
  };
  using Lent = std::unique_ptr<BinCounter, GiveBack>;

  // Lends a counter that is open for the dtype. Throws if there is no memory.
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
  static constexpr std::size_t kMostCounters = 64;

  void take_back(BinCounter* lent) noexcept {
    std::unique_ptr<BinCounter> counter(lent);
    counter->clear();
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || idle_.size() == kMostCounters) return;
    try {
      idle_.push_back(std::move(counter));
    } catch (...) {  // no memory to keep it: it is freed
    }
  }

  std::mutex mutex_;  // use try_lock only: in a forked child, a thread of the parent may hold it forever
  std::vector<std::unique_ptr<BinCounter>> idle_;
};

}  // namespace tensorstat::host
