// An element as a number: how every dtype enters a pair. One text for C++ and OpenCL C, included once a dtype behind
// number.h.
#define UNPACK_TEXT CAT(UNPACK_TEXT_, FAMILY)
#define UNPACK_TEXT_Integer "precision/pair/unpack_integer.h"
#define UNPACK_TEXT_Integer64 "precision/pair/unpack_integer.h"
#define UNPACK_TEXT_Float "precision/pair/unpack_float.h"
#define UNPACK_TEXT_Double "precision/pair/unpack_float.h"
#define UNPACK_TEXT_Coded "precision/pair/unpack_float.h"
#define UNPACK_TEXT_Scale "precision/pair/unpack_float.h"
#define UNPACK_TEXT_PackedFloat "precision/pair/unpack_float.h"  // pairs of packed dtypes are refused
#define UNPACK_TEXT_PackedInteger "precision/pair/unpack_integer.h"
#include UNPACK_TEXT
