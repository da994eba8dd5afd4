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

// A function that returns a struct and is inlined leaves an intrinsic behind that Oclgrind does not know: for C++ alone.
INLINE number NAME(unpack)(SPACE const u8* p) {
  number x;
  NAME(unpack_into)(&x, p);
  return x;
}
