// The folds, once for every instruction set: C-order bytes in, a partial's words out.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tensorstat::host {

// Folds `count` elements at `bytes` (any alignment; the first begins there) into the words of `partial`, for the accumulators
// in `needs` (precision/partial.h). The caller keeps count below 2^30, and MXCSR (or FPCR) at its
// default: round to nearest, subnormals kept. `next` is where what is folded afterwards lies, so that memory can be asked for
// it; nullptr: behind the last of these, or nowhere.
using Fold = void (*)(const std::uint8_t* bytes, std::uint64_t count, int needs, std::int64_t* partial,
                      const std::uint8_t* next);

// Indexed by Dtype.
extern const Fold kFoldsBaseline[];
extern const Fold kFoldsAvx2[];
extern const Fold kFoldsAvx512[];

// `low`, of the dtypes that have one; nullptr for the others.
extern const Fold kFoldsLow[];

}  // namespace tensorstat::host
