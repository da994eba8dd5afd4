// Parameters that have a gradient, and that no optimizer writes. A watch gives a parameter an output row in each
// iteration in which it was written.
#pragma once

#include <vector>

#include "stats/answer/findings/history.hpp"

namespace tensorstat {

struct UnwrittenParameter {
  const HistorySeries* series = nullptr;  // its value before the first step
  const HistorySeries* gradient = nullptr;
};

// Those with a gradient other than 0 in at least `limit` iterations, to the end. Sets `is_judged` if a rank has the
// rows to tell. The pointers are valid while `history` is not changed.
std::vector<UnwrittenParameter> unwritten_parameters(const History& history, double limit, bool& is_judged);

}  // namespace tensorstat
