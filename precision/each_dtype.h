// Includes PER_DTYPE once for each dtype, named by DTYPE, in the catalog's order. For C++, where one file
// compiles them all; an OpenCL program is of one dtype.
#define DTYPE bool
#include PER_DTYPE
#undef DTYPE
#define DTYPE int8
#include PER_DTYPE
#undef DTYPE
#define DTYPE int16
#include PER_DTYPE
#undef DTYPE
#define DTYPE int32
#include PER_DTYPE
#undef DTYPE
#define DTYPE int64
#include PER_DTYPE
#undef DTYPE
#define DTYPE uint8
#include PER_DTYPE
#undef DTYPE
#define DTYPE uint16
#include PER_DTYPE
#undef DTYPE
#define DTYPE uint32
#include PER_DTYPE
#undef DTYPE
#define DTYPE uint64
#include PER_DTYPE
#undef DTYPE
#include "precision/each_float.h"
