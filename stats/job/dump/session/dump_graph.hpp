// The tensors of a CUDA graph, as they were collected while it was captured.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <tensorstat/dump.hpp>
#include <tensorstat/opencl.hpp>
#include <utility>
#include <vector>

#include "stats/job/dump/session/pending_run.hpp"

namespace tensorstat {

class DumpGraph {
 public:
  explicit DumpGraph(BoardGraph made) : board(std::move(made)) {}

  // What a replay makes a run of.
  struct Run {
    DumpPlace place;  // its iteration is the replay's
    const DumpOperator* op = nullptr;
    std::string layout;
    std::vector<std::pair<Io, std::uint32_t>> given;
    bool has_results = false;
    std::vector<PendingTensor> tensors;  // without addresses; in the order of the board's folds
  };

  std::mutex mutex;
  BoardGraph board;
  std::vector<Run> runs;
};

// The graph that is being captured, if there is one. Thread-safe.
class CapturedGraph {
 public:
  void set(std::shared_ptr<DumpGraph> graph) noexcept {  // frees the earlier one without the lock
    const std::lock_guard lock(mutex_);
    graph_.swap(graph);
    is_there_ = graph_ != nullptr;
  }
  std::shared_ptr<DumpGraph> get() const {
    if (!is_there_.load(std::memory_order_relaxed)) return nullptr;
    const std::lock_guard lock(mutex_);
    return graph_;
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<DumpGraph> graph_;
  std::atomic<bool> is_there_{false};
};

}  // namespace tensorstat
