// The folds of `low`. The order of their operations is fixed, element by element, so there is only a baseline version.
#include <tensorstat/dtypes.inc>

#include "host/simd/folds.hpp"
#include "host/simd/vectors.h"
#include "precision/generated/families.h"
#include "precision/partial.h"
#include "precision/sizes.h"

namespace {
#include "precision/exact.h"
#include "precision/keyed.h"
#include "precision/lift/lift.h"
#include "precision/low/low.h"

#define PER_DTYPE "host/simd/fold_low.inc"
#define PER_DTYPE_IF 1
#include "precision/generated/each_dtype.h"
}  // namespace

namespace tensorstat::host {

#define ROW(id, name, ...) dtype_##name::kLowFold,
const Fold kFoldsLow[] = {TENSORSTAT_DTYPES(ROW)};

}  // namespace tensorstat::host
