// The memory ledger: device bytes are entered before they are allocated, so a budget is a promise and
// not a report.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

#include <tensorstat/meter.hpp>

namespace tensorstat {

class Ledger {
 public:
  explicit Ledger(std::optional<std::uint64_t> budget_bytes) : budget_bytes_(budget_bytes) {}

  // Enters `bytes`, or refuses where that would exceed the budget.
  bool reserve(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    if (budget_bytes_ && (bytes > *budget_bytes_ || use_.current_bytes > *budget_bytes_ - bytes)) return false;
    use_.current_bytes += bytes;
    if (use_.current_bytes > use_.peak_bytes) use_.peak_bytes = use_.current_bytes;
    return true;
  }

  void release(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    use_.current_bytes -= bytes;
  }

  // What a reservation may still be, at this moment.
  std::uint64_t free_bytes() const {
    const std::lock_guard lock(mutex_);
    return budget_bytes_ ? *budget_bytes_ - use_.current_bytes : std::uint64_t{1} << 62;
  }

  MemoryUse use() const {
    const std::lock_guard lock(mutex_);
    return use_;
  }

 private:
  const std::optional<std::uint64_t> budget_bytes_;
  mutable std::mutex mutex_;
  MemoryUse use_;
};

}  // namespace tensorstat
