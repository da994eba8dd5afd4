// The tensors of a CUDA graph, as they were collected while it was captured.
#pragma once

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

}  // namespace tensorstat
