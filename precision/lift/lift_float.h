// n equal elements of a float16, bfloat16 or float32 into a partial: integer arithmetic only, and the definition that
// the fold must agree with. One text for C++ and OpenCL C, included once a dtype.
#include "precision/lift/lift_sums.h"

INLINE void lift(WORDS i64* partial, SPACE const u8* p, const i64 n, const int needs) {
  const SBITS bits = (SBITS)LOAD_ONE(UBITS, p);
  lift_elements(partial, (UBITS)bits, n, needs);
  const SBITS key = (SBITS)(bits ^ ((bits >> SIGN_SHIFT) & MAGNITUDE_MASK));
  const i32 magnitude = (i32)(bits & MAGNITUDE_MASK);
  if (!lift_float(partial, key, magnitude, INF_BITS, n)) return;
  const i32 exponent = magnitude >> MANTISSA_SHIFT;
  const i32 fraction = magnitude & (((i32)1 << MANTISSA_SHIFT) - 1);
  const i64 mantissa = exponent == 0 ? fraction : fraction | ((i32)1 << MANTISSA_SHIFT);
  lift_sums(partial, (u64)mantissa, bits < 0, n, (u32)(MAX(exponent, 1) - 1 + FIRST_UNIT), needs);
}
