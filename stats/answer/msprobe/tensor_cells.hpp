// The cells of tensor mode: two tensors, element by element.
#pragma once

#include <functional>
#include <string_view>

#include "stats/answer/msprobe/comparison.hpp"

namespace tensorstat::msprobe {

// Fills measures of all rows: cosine, Euclidean distance, greatest absolute difference, greatest relative difference,
// and the share of elements with a relative difference below 1/1000, and below 5/1000.
//
// Dimensions of 1 are dropped. Each tensor is read once, in pieces. If NaN is at the same elements of both, and Inf
// too, they count as 0; the sign of Inf does not matter. Differences and products are computed in binary64. A relative
// difference is |npu - bench| / |bench|, in the common NumPy type of both dtypes and float32; if bench is 0, the type's
// epsilon is added to both. Sums have twice the precision. So the distance is the nearest number; msprobe's depends on
// its BLAS and may differ in the last digits. The cells are "unsupported" for an argument and for a tensor that cannot
// be read; `failed` is told of the latter, and is_whole becomes false.
void fill_tensor_measures(Comparison& comparison, const std::function<void(std::string_view words)>& failed);

}  // namespace tensorstat::msprobe
