// Counts requests and tensors of a backend, so that an empty dump can name its reason.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <tensorstat/dump.hpp>

#include "stats/job/dump/config/dump_config.hpp"

namespace tensorstat {

// Callable from any thread, without a lock; a note takes about a nanosecond.
class Arrivals {
 public:
  void note_rank(std::uint32_t rank) noexcept { ranks_.note(rank); }
  // For a rank that the config selects.
  void note_step(std::uint64_t step, bool is_wanted) noexcept {
    steps_.note(step);
    if (is_wanted && !has_wanted_step_.load(std::memory_order_relaxed)) has_wanted_step_ = true;
  }
  void note_tensor(Io io) noexcept { (io == Io::kInput ? has_inputs_ : has_outputs_) = true; }

  // Why nothing was dumped, if the reason is the rank, the step or the direction: "of step [100] nothing came; steps 0
  // to 2 did". Empty if it is another one.
  std::string why_nothing(const DumpConfig& config) const;
  bool is_any() const { return ranks_.is_any(); }
  bool has_tensors() const { return has_inputs_ || has_outputs_; }

 private:
  class Span {
   public:
    void note(std::uint64_t number) noexcept {
      if (number >= first_.load(std::memory_order_relaxed) && number <= last_.load(std::memory_order_relaxed)) return;
      raise(first_, number, [](std::uint64_t now, std::uint64_t then) { return now < then; });
      raise(last_, number, [](std::uint64_t now, std::uint64_t then) { return now > then; });
    }
    bool is_any() const { return first_ <= last_; }
    // "steps 0 to 2 did"
    std::string words(std::string_view what) const;

   private:
    template <typename Better>
    static void raise(std::atomic<std::uint64_t>& bound, std::uint64_t number, Better is_better) noexcept {
      std::uint64_t then = bound.load(std::memory_order_relaxed);
      while (is_better(number, then) && !bound.compare_exchange_weak(then, number, std::memory_order_relaxed)) {
      }
    }
    std::atomic<std::uint64_t> first_{UINT64_MAX}, last_{0};
  };

  Span ranks_, steps_;
  std::atomic<bool> has_wanted_step_{false}, has_inputs_{false}, has_outputs_{false};
};

}  // namespace tensorstat
