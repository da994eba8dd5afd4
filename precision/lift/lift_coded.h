// Lifts n equal elements of the dtypes that are stored as one of 256 codes: the 8-bit floats, and the packed dtypes,
// which have several elements in a byte. It uses only integer arithmetic, and the folds must agree with it. One text
// for C++ and OpenCL C, included once for each dtype.
#include "precision/lift/lift_sums.h"

#if IS_FLOAT
// Lifts `n` elements with these bits, unpacked. lift_float() knows Inf only by its bits. Some formats have no Inf. So
// the bits are doubled: an odd number between the largest finite value and the least NaN stands for Inf.
INLINE void lift_bits(WORDS i64* partial, const UBITS bits, const i64 n, const int needs) {
  lift_elements(partial, bits, n, needs);
  const i32 sign = bits >> SIGN_SHIFT, stored = bits & MAGNITUDE_MASK;
  const i32 magnitude = NAN_IS_MINUS_ZERO && bits == ELEMENT_SIGN ? ELEMENT_SIGN : stored;
  if (!lift_float(partial, sign != 0 ? ~(i64)stored : (i64)stored, 2 * magnitude, TWICE_INF_BITS, n)) return;
  const i32 exponent = magnitude >> MANTISSA_SHIFT;
  const i32 fraction = magnitude & ((1 << MANTISSA_SHIFT) - 1);
  const i64 mantissa = exponent == 0 ? fraction : fraction | (1 << MANTISSA_SHIFT);
  lift_sums(partial, (u64)mantissa, sign != 0, n, (u32)(MAX(exponent, 1) - 1 + FIRST_UNIT), needs);
}
#else
INLINE void lift_bits(WORDS i64* partial, const UBITS bits, const i64 n, const int needs) {
  lift_elements(partial, bits, n, needs);
  const i64 value = (i64)(ORDERED)bits;
  raise_extrema(partial, value, value);
  if (value == 0) ADD(partial[PARTIAL_ZEROS], n);
  if (value < 0) ADD(partial[PARTIAL_NEGATIVES], n);
  lift_sums(partial, (u64)(value < 0 ? -value : value), value < 0, n, 0, needs);
}
#endif

// Lifts the first `elements` elements of a byte, `n` times.
INLINE void lift_some(WORDS i64* partial, const u32 code, const u32 elements, const i64 n, const int needs) {
  for (u32 k = 0; k < elements; ++k) lift_bits(partial, UNPACKED(code, k), n, needs);
}

INLINE void lift_codes(WORDS i64* partial, const u32 code, const i64 n, const int needs) {
  lift_some(partial, code, ELEMENTS_A_CODE, n, needs);
}

// Lifts all elements of a byte.
INLINE void lift(WORDS i64* partial, SPACE const u8* p, const i64 n, const int needs) {
  lift_codes(partial, (u32)LOAD_ONE(u8, p), n, needs);
}
