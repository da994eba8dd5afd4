// Includes PER_DTYPE once for each float dtype, named by DTYPE, in the catalog's order. For C++, where
// one file compiles them all; an OpenCL program is of one dtype.
#define DTYPE float16
#include PER_DTYPE
#undef DTYPE
#define DTYPE bfloat16
#include PER_DTYPE
#undef DTYPE
#define DTYPE float32
#include PER_DTYPE
#undef DTYPE
#define DTYPE float64
#include PER_DTYPE
#undef DTYPE
