// The common part of the kernels for two tensors. The program defines DTYPE_A_TEXT and DTYPE_B_TEXT, the headers of their
// dtypes.
// clang-format off: each text needs those before it
#include "precision/names.h"
#include "precision/sizes.h"
#include "kernels-cl/cl/vectors.cl"
#include "precision/generated/families.h"
#include "kernels-cl/cl/pair/words.cl"
#include "precision/pair/pair.h"
#include "precision/exact.h"
#include "precision/keyed.h"
#include "precision/pair/number.h"
#include "precision/pair/lift_pair.h"
#include "kernels-cl/cl/slice.cl"
#ifdef PAIR_FOLDS
#include "kernels-cl/cl/pair/vectors.cl"
#endif
#include DTYPE_A_TEXT
#include "kernels-cl/cl/pair/element.cl"
#if !SAME_DTYPE
#include DTYPE_B_TEXT
#include "kernels-cl/cl/pair/element.cl"
#endif
#ifdef PAIR_FOLDS
#ifndef HAS_FLOAT32
#include "precision/generated/float32.h"
#include UNPACK_TEXT
#endif
#include "precision/generated/float64.h"
#include UNPACK_TEXT
#include "precision/pair/fold_pair_parts.h"
#include "precision/pair/fold_pair_sums.h"
#include "precision/pair/fold_pair.h"
#endif
// clang-format on
