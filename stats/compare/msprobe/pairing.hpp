// Pairs the items of two dumps.
#pragma once

#include <vector>

#include "stats/compare/msprobe/comparison.hpp"

namespace tensorstat::msprobe {

// Makes a row for each item of `comparison.npu` and each of its partners. A partner has the same key, and the same
// dtype or another float of the same framework. Fills rows and unmatched_count.
void pair_items(Comparison& comparison);

// Gives the statistics the types that they have in a pandas table. If a column holds ints and floats, all become
// floats. If all four columns of a side are numbers, one float makes all of them floats. The rows without a partner
// also form a table of their own.
void settle_types(std::vector<ComparedRow>& rows);

}  // namespace tensorstat::msprobe
