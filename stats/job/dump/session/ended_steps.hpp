// Steps that ended without being dumped. They are kept for the record of executions.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <thread>

namespace tensorstat {

// A training has many such steps between two dumped ones. So push() takes no lock, allocates nothing and wakes no
// thread. The next dumped step collects them.
class EndedSteps {
 public:
  static constexpr std::uint64_t kMost = 512;

  struct Step {
    std::uint32_t rank = 0, graph = 0;
    std::uint64_t iteration = 0;
  };

  // Callable from any thread. false: the list is full, and the step is not remembered.
  bool push(const Step& step) {
    if (claimed_.load(std::memory_order_relaxed) >= kMost) return false;
    const std::uint64_t mine = claimed_.fetch_add(1);
    if (mine >= kMost) return false;
    slots_[mine].step = step;
    slots_[mine].is_there.store(true, std::memory_order_release);
    return true;
  }

  bool is_empty() const { return claimed_.load(std::memory_order_relaxed) == 0; }

  // Called by one thread at a time. Passes the steps to `take`, in order, and forgets them. Meanwhile push() returns
  // false.
  template <typename Take>
  void drain(const Take& take) {
    if (is_empty()) return;
    std::uint64_t count = claimed_.exchange(kMost);
    if (count > kMost) count = kMost;
    for (std::uint64_t i = 0; i < count; ++i) {
      while (!slots_[i].is_there.load(std::memory_order_acquire)) std::this_thread::yield();
      slots_[i].is_there.store(false, std::memory_order_relaxed);
      take(slots_[i].step);
    }
    claimed_.store(0, std::memory_order_release);
  }

 private:
  struct Slot {
    Step step;
    std::atomic<bool> is_there{false};
  };
  std::array<Slot, kMost> slots_;
  std::atomic<std::uint64_t> claimed_{0};
};

}  // namespace tensorstat
