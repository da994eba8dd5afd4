// The common part of the kernels for one tensor. The program defines DTYPE_TEXT, the header of its dtype.
// clang-format off: each text needs those before it
#include DTYPE_TEXT
#include "precision/sizes.h"
#include "kernels-cl/cl/vectors.cl"
#include "precision/fold/vector_interface.h"
#include "precision/generated/families.h"
#include "precision/partial.h"
#include "precision/checksum.h"
#include "precision/codes.h"
#include "precision/exact.h"
#include "precision/keyed.h"
#include "precision/lift/lift.h"
#include "precision/lift/lift_elements.h"
#include "kernels-cl/cl/slice.cl"
#include LIFT_TEXT
#include "precision/lift/lift_indices.h"
#include "precision/lift/count_casts.h"
#include "kernels-cl/cl/casts.cl"
#include "kernels-cl/cl/fingerprints.cl"
#include "kernels-cl/cl/bins.cl"
// clang-format on
