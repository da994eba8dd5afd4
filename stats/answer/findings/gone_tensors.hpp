// Tensors that are missing where others of their operator are. A layer that runs twice in an iteration may run once in
// another.
#pragma once

#include <cstddef>
#include <vector>

#include "stats/answer/findings/history.hpp"

namespace tensorstat {

struct GoneTensor {
  const HistorySeries* series = nullptr;
  const HistorySeries* longest = nullptr;  // what goes on
  std::size_t last = 0;                    // the cell of `longest` at which `series` has its last one
};

// Tensors without rows in at least the last `limit` iterations. Sets `is_judged` if a tensor has enough rows for a
// judgement. The pointers are valid while `history` does not change.
std::vector<GoneTensor> gone_tensors(const History& history, double limit, bool& is_judged);

}  // namespace tensorstat
