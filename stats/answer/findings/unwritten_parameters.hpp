// Parameters that have a gradient, and that no optimizer writes. A watch gives a parameter an output row in each
// iteration in which it was written.
#pragma once

#include <cstddef>
#include <vector>

#include "stats/answer/findings/history.hpp"

namespace tensorstat {

struct UnwrittenParameter {
  const HistorySeries* series = nullptr;  // its value before the first step
  const HistorySeries* gradient = nullptr;
  std::size_t steps = 0;  // in which the gradient is not 0
};

// Parameters with a gradient other than 0 in at least the last `limit` iterations. Sets `is_judged` if a rank has
// enough rows for a judgement. The pointers are valid while `history` does not change.
std::vector<UnwrittenParameter> unwritten_parameters(const History& history, double limit, bool& is_judged);

}  // namespace tensorstat
