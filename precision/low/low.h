// The types of the sums in `low`. One text for C++ and OpenCL C.
//
// OWN is the type that computes for a dtype. round_sum and round_square round the result of one operation to the dtype.
// The arithmetic of float32 and float64 rounds by itself. The narrow dtypes are computed in float32, which has more
// than twice their bits. So a second rounding gives the result of the narrow type's own arithmetic (Figueroa, "When is
// double rounding innocuous?", 1995).
#ifndef TENSORSTAT_PRECISION_LOW_H
#define TENSORSTAT_PRECISION_LOW_H

#define OWN CAT(OWN_, PART_DTYPE)
#define OWN_float16 f32
#define OWN_bfloat16 f32
#define OWN_float32 f32
#define OWN_float64 f64

// Rounds the last `dropped` bits of a float32 away, ties to even. It may carry into Inf.
INLINE u32 round_mantissa(u32 bits, u32 dropped) {
  const u32 even = (bits >> dropped) & 1;
  return (bits + ((u32)1 << (dropped - 1)) - 1 + even) >> dropped << dropped;
}

// A sum in `low` of float16 keeps 11 bits and float32's exponents. It is held at 2^-10 of its size, where float16's
// exponents would lose bits.
INLINE f32 round_sum_float16(f32 x) { return AS_F32(round_mantissa(AS_U32(x), 13)); }
INLINE f32 round_sum_bfloat16(f32 x) { return AS_F32(round_mantissa(AS_U32(x), 16)); }
INLINE f32 round_sum_float32(f32 x) { return x; }

// Rounds squares and their sums, which are never negative.
INLINE f32 round_square_float16(f32 x) {
  const u32 bits = AS_U32(x);
  if (bits >= 0x477ff000) return AS_F32(0x7f800000);  // 65520, the tie between the largest value and the next one
  if (bits < 0x38800000) return (x + 0.5f) - 0.5f;    // a subnormal: to a multiple of 2^-24
  return AS_F32(round_mantissa(bits, 13));
}
INLINE f32 round_square_bfloat16(f32 x) { return AS_F32(round_mantissa(AS_U32(x), 16)); }
INLINE f32 round_square_float32(f32 x) { return x; }

// The value of a finite element.
INLINE f32 own_float16(u32 bits) {
  const u32 exponent = (bits >> 10) & 31, fraction = bits & 0x3ff;
  const u32 mantissa = exponent == 0 ? fraction : fraction | 0x400;
  const f32 scale = AS_F32((127 - 25 + (exponent == 0 ? 1 : exponent)) << 23);  // the value of its last bit
  return (f32)((bits >> 15) != 0 ? -(i32)mantissa : (i32)mantissa) * scale;
}
INLINE f32 own_bfloat16(u32 bits) { return AS_F32(bits << 16); }
INLINE f32 own_float32(u32 bits) { return AS_F32(bits); }

// Deposits value * 2^shift into words with the unit of the family's sum.
INLINE void deposit_f32(WORDS i64* words, f32 value, u32 shift) {
  const u32 bits = AS_U32(value);
  const u32 exponent = (bits >> 23) & 255, fraction = bits & 0x7fffff;
  const i64 mantissa = exponent == 0 ? fraction : fraction | 0x800000;
  deposit(words, (bits >> 31) != 0 ? -mantissa : mantissa, (exponent == 0 ? 0 : exponent - 1) + shift);
}
#define deposit_own_float16 deposit_f32
#define deposit_own_bfloat16 deposit_f32
#define deposit_own_float32 deposit_f32

#ifdef FP64
INLINE f64 round_sum_float64(f64 x) { return x; }
INLINE f64 round_square_float64(f64 x) { return x; }
INLINE f64 own_float64(u64 bits) { return AS_F64(bits); }
INLINE void deposit_own_float64(WORDS i64* words, f64 value, u32 shift) {
  const u64 bits = (u64)AS_I64(value);
  const u32 exponent = (u32)(bits >> 52) & 2047;
  const i64 fraction = (i64)(bits & (((u64)1 << 52) - 1));
  const i64 mantissa = exponent == 0 ? fraction : fraction | (i64)1 << 52;
  deposit(words, (bits >> 63) != 0 ? -mantissa : mantissa, (exponent == 0 ? 0 : exponent - 1) + shift);
}
#endif

#endif
