// n equal elements of a float64 into a partial: integer arithmetic only, and the definition that the fold
// must agree with. One text for C++ and OpenCL C, included once a dtype.
#include "precision/lift/lift_sums.h"

INLINE void lift(WORDS i64* partial, SPACE const u8* p, const i64 n, const int needs) {
  const i64 bits = (i64)LOAD_ONE(u64, p);
  lift_elements(partial, (u64)bits, n, needs);
  // Not with bits >> 63: clang 14 makes a wrong bfe.u64 of that for NVIDIA's chips.
  const i64 key = bits < 0 ? bits ^ (i64)MAGNITUDE_MASK : bits;
  const i64 magnitude = bits & (i64)MAGNITUDE_MASK;
  if (!lift_float(partial, key, magnitude, INF_BITS, n)) return;
  const i32 exponent = (i32)(magnitude >> 52);
  const i64 fraction = magnitude & (((i64)1 << 52) - 1);
  const i64 mantissa = exponent == 0 ? fraction : fraction | ((i64)1 << 52);
  lift_sums(partial, (u64)mantissa, bits < 0, n, (u32)(MAX(exponent, 1) - 1), needs);
}
