// Pairs the items of two dumps.
#pragma once

#include <vector>

#include "stats/answer/msprobe/comparison.hpp"

namespace tensorstat::msprobe {

// Makes a row for each item of `comparison.npu` and each of its partners. A partner has the same key, and the same
// dtype or another float of the same framework; `any_dtype`: any. Fills rows and unmatched_count.
void pair_items(Comparison& comparison, bool any_dtype = false);

// msprobe's fuzzy match: the keys may differ in the number of the call. Items pair in the order of both dumps: an item
// behind the last pair pairs with the first one of the other side that fits. What either side has between two pairs has
// no partner. As in msprobe, if one side ends with a pair, what the other side still has gets one more row at most; the
// others are only counted.
void pair_items_in_order(Comparison& comparison);

// Gives the statistics the types that they have in a pandas table. If a column holds ints and floats, all become
// floats. If all four columns of a side are numbers, one float makes all of them floats. The rows without a partner
// also form a table of their own.
void settle_types(std::vector<ComparedRow>& rows);

}  // namespace tensorstat::msprobe
