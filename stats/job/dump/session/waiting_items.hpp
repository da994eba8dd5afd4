// Keeps the order of work while tensors are on a board.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <utility>

#include "stats/job/dump/session/dump_work.hpp"

namespace tensorstat {

// Runs with tensors on a board wait here for its copy, and all work behind them, so that the order stays. Thread-safe.
class WaitingItems {
 public:
  // The references must outlive this. Without `has_board` nothing waits.
  WaitingItems(DumpQueue& queue, DumpMeter& meter, bool has_board)
      : queue_(queue), meter_(meter), has_board_(has_board) {}

  // Keeps the items if their run is on the board, or others wait; else they go to the queue.
  void post(DumpQueue::Items items, bool is_on_board) noexcept {
    if (!has_board_) return queue_.post_all(items);
    const std::lock_guard lock(mutex_);  // released before `items`, which may run code of the caller's
    if (lets_wait_ && (is_on_board || !items_.empty())) {
      items_.splice(items_.end(), items);
      count_ = items_.size();
      return;
    }
    if (is_on_board) meter_.end_board_step();
    queue_.post_all(items);
  }

  // Ends the board's step, and lets what waits here go to the queue.
  void release() noexcept {
    if (!has_board_) return;
    DumpQueue::Items items;  // destroyed without the lock
    const std::lock_guard lock(mutex_);
    meter_.end_board_step();
    items.splice(items.end(), items_);
    count_ = 0;
    queue_.post_all(items);
  }

  // From now on nothing waits.
  void close() noexcept {
    if (!has_board_) return;
    {
      const std::lock_guard lock(mutex_);
      lets_wait_ = false;
    }
    release();
  }

  std::size_t count() const { return count_.load(std::memory_order_relaxed); }

 private:
  DumpQueue& queue_;
  DumpMeter& meter_;
  const bool has_board_;
  std::mutex mutex_;  // taken before the board's and the queue's
  DumpQueue::Items items_;
  std::atomic<std::size_t> count_{0};
  bool lets_wait_ = true;
};

}  // namespace tensorstat
