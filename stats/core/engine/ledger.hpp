// Counts device memory. Bytes are entered before they are allocated, so the budget is never exceeded. It uses no lock,
// because a forked child could inherit it locked.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <tensorstat/meter.hpp>

namespace tensorstat {

class Ledger {
 public:
  explicit Ledger(std::optional<std::uint64_t> budget_bytes) : budget_bytes_(budget_bytes) {}

  // Enters `bytes`. False, and no change, if that would exceed the budget.
  bool reserve(std::uint64_t bytes) {
    std::uint64_t total = current_bytes_;
    do {
      if (budget_bytes_ && (bytes > *budget_bytes_ || total > *budget_bytes_ - bytes)) return false;
    } while (!current_bytes_.compare_exchange_weak(total, total + bytes));
    total += bytes;
    std::uint64_t peak = peak_bytes_;
    while (peak < total && !peak_bytes_.compare_exchange_weak(peak, total)) {
    }
    return true;
  }

  void release(std::uint64_t bytes) { current_bytes_ -= bytes; }

  // The largest reservation that is possible now.
  std::uint64_t free_bytes() const { return budget_bytes_ ? *budget_bytes_ - current_bytes_ : std::uint64_t{1} << 62; }

  MemoryUse use() const { return {current_bytes_, peak_bytes_}; }

 private:
  const std::optional<std::uint64_t> budget_bytes_;
  std::atomic<std::uint64_t> current_bytes_{0}, peak_bytes_{0};
};

}  // namespace tensorstat
