// The folds of `low`: arithmetic whose order is fixed, element by element, for the baseline.
#include <tensorstat/catalog.inc>

#include "host/simd/folds.hpp"
#include "host/simd/vectors.h"
#include "precision/families.h"
#include "precision/formats.h"
#include "precision/partial.h"

namespace {
#include "precision/exact.h"
#include "precision/lift/lift.h"
#include "precision/low/low.h"

#define PER_DTYPE "host/simd/fold_low.inc"
#include "precision/each_float.h"
}  // namespace

namespace tensorstat::host {

const Fold kFoldsLow[] = {low_slice_float16, low_slice_bfloat16, low_slice_float32, low_slice_float64};

}  // namespace tensorstat::host
