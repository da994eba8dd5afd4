// The folds, one for each instruction set: from bytes in C order to a partial's words.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tensorstat::host {

// Folds `count` elements at `bytes` (any alignment) into the words of `partial`, for the accumulators in `needs`
// (precision/partial.h). The caller keeps count below 2^30, and MXCSR (or FPCR) at its default: round to nearest,
// subnormals kept. `next` is the address that is folded afterwards, for prefetching; nullptr: directly after these, or
// nothing.
using Fold = void (*)(const std::uint8_t* bytes, std::uint64_t count, int needs, std::int64_t* partial,
                      const std::uint8_t* next);

// Indexed by Dtype.
extern const Fold kFoldsBaseline[];
extern const Fold kFoldsAvx2[];
extern const Fold kFoldsAvx512[];

// The folds of `low`; nullptr for dtypes that have none.
extern const Fold kFoldsLow[];

}  // namespace tensorstat::host
