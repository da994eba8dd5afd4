// The cells of statistics mode: the differences of max, min, mean and l2norm.
#pragma once

#include <vector>

#include "stats/answer/msprobe/comparison.hpp"

namespace tensorstat::msprobe {

// Fills measures with texts: the four differences, then the four relative differences. Call settle_types() first.
//
//   equal as texts                      "0" and "0"
//   both numbers                        npu - bench, and |(npu - bench) / bench * 100| with "%"; "inf" if bench is 0
//   NaN against a number or an Inf      "Nan"
//   Inf against a number or the other   the sign of npu - bench: "inf" or "-inf"
//   N/A on a side, or two devices       "N/A"
//   any other text                      "Diff"
void fill_statistic_measures(std::vector<ComparedRow>& rows);

}  // namespace tensorstat::msprobe
