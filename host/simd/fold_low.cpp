// The folds of `low`. The order of their operations is fixed, element by element, so there is only a baseline version.
#include <tensorstat/catalog.inc>

#include "host/simd/folds.hpp"
#include "host/simd/vectors.h"
#include "precision/families.h"
#include "precision/formats.h"
#include "precision/partial.h"
#include "precision/sizes.h"

namespace {
#include "precision/exact.h"
#include "precision/keyed.h"
#include "precision/lift/lift.h"
#include "precision/low/low.h"

#define PER_DTYPE "host/simd/fold_low.inc"
#define PER_DTYPE_IF HAS_LOW
#include "precision/each_dtype.h"
}  // namespace

namespace tensorstat::host {

#define LOW_SLICE_0(name) nullptr
#define LOW_SLICE_1(name) low_slice_##name
#define ROW(id, name, ...) CAT(LOW_SLICE_, HAS_LOW_OF(name))(name),
const Fold kFoldsLow[] = {TENSORSTAT_DTYPES(ROW)};

}  // namespace tensorstat::host
