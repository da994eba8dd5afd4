// The cells of tensor mode: two files of tensors, element by element.
#pragma once

#include <functional>
#include <string_view>

#include "stats/compare/msprobe/comparison.hpp"

namespace tensorstat::msprobe {

// Fills measures of all rows: cosine, Euclidean distance, greatest absolute and relative difference, and the shares of
// elements whose relative difference is below 1/1000 and 5/1000.
//
// Dimensions of 1 are left out. Both are read once, piece by piece. NaN and Inf in the same places become 0, whatever
// their sign. Differences and products are those of binary64; relative differences those of NumPy's type for both and
// float32, |npu - bench| / |bench|, where a bench of 0 adds the type's epsilon to both. Sums are of twice the
// precision, so the distance is the nearest number, and may differ from msprobe's, which depends on its BLAS, in the
// last digits. A tensor that cannot be read is "unsupported", as is one of an argument; `failed` is told of it, and
// is_whole is false.
void fill_tensor_measures(Comparison& comparison, const std::function<void(std::string_view words)>& failed);

}  // namespace tensorstat::msprobe
