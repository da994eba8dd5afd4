// Which item of the one dump is held against which of the other.
#pragma once

#include <vector>

#include "stats/compare/msprobe/comparison.hpp"

namespace tensorstat::msprobe {

// A row for each item of `comparison.npu` and each partner of it: an item of the same key, and of the same dtype or
// another float of the same framework. Fills rows and unmatched_count.
void pair_items(Comparison& comparison);

// Brings the statistics of the rows to the types that a table of pandas has: where a column holds ints and floats, all
// become floats, and where all four columns of a side are numbers, one float makes all of them floats. The rows without
// a partner are a table of their own, too.
void settle_types(std::vector<ComparedRow>& rows);

}  // namespace tensorstat::msprobe
