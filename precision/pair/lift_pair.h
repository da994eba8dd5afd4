// Lifts two elements into the partial of two tensors. This is the definition; every faster path must agree with it. One
// text for C++ and OpenCL C, included after exact.h, keyed.h and number.h.
//
// d is |a - b|, rounded once to binary64. s is the scale: |b|, or the greater of |a| and |b|, as binary64. Two NaN are
// equal, and so are two infinities of one sign. These count as two zeros do, but enter no sum. If only one element is
// NaN or Inf, or the infinities differ in sign, d and d / s are Inf.
#ifndef TENSORSTAT_PRECISION_LIFT_PAIR_H
#define TENSORSTAT_PRECISION_LIFT_PAIR_H

// The tolerance. Two elements are within it if d <= atol + rtol * s. This is computed in binary64, each operation
// rounded.
typedef struct {
  f64 rtol, atol;
  int greater;  // s is max(|a|, |b|) instead of |b|
} pair_tolerance;

#define PAIR_LEAST ((i64)(-0x7fffffffffffffff - 1))
#define PAIR_ULP_WORD(steps) ((i64)((steps) ^ ((u64)1 << 63)))
#define PAIR_OFFSET(kind, id) ((kind).is_wide ? (int)PAIR_OFFSET_##id##_Double : (int)PAIR_OFFSET_##id##_Float)
#define PAIR_UNIT(kind) ((kind).is_wide ? (i32)SUM_EXPONENT_Double : (i32)SUM_EXPONENT_Float)

// Adds or subtracts (high * 2^64 + low) * 2^position units.
INLINE void deposit_wide(WORDS i64* words, u64 high, u64 low, int negative, u32 position) {
  const u32 shift = position & 31;
  const u64 digit = 0xffffffff;
  const u64 first = (low & digit) << shift, second = (low >> 32) << shift;
  const i64 sign = negative ? -1 : 1;
  words += position >> 5;
  ADD(words[0], sign * (i64)(first & digit));
  ADD(words[1], sign * (i64)((first >> 32) + (second & digit)));
  if (high == 0) {
    ADD(words[2], sign * (i64)(second >> 32));
    return;
  }
  const u64 third = (high & digit) << shift, fourth = (high >> 32) << shift;
  ADD(words[2], sign * (i64)((second >> 32) + (third & digit)));
  ADD(words[3], sign * (i64)((third >> 32) + (fourth & digit)));
  ADD(words[4], sign * (i64)(fourth >> 32));
}

// Adds or subtracts a * b * 2^position units.
INLINE void deposit_product(WORDS i64* words, u64 a, u64 b, int negative, u32 position) {
  const u64 low_a = a & 0xffffffff, high_a = a >> 32, low_b = b & 0xffffffff, high_b = b >> 32;
  const u64 crossed = high_a * low_b, low = low_a * low_b;
  const u64 middle = (crossed & 0xffffffff) + low_a * high_b + (low >> 32);  // below 2^64
  const u64 high = high_a * high_b + (crossed >> 32) + (middle >> 32);
  deposit_wide(words, high, middle << 32 | (low & 0xffffffff), negative, position);
}

// Lifts two finite elements into the exact sums.
INLINE void lift_pair_sums(WORDS i64* partial, number a, number b, pair_kind kind) {
  const u32 at_a = (u32)(a.exponent - PAIR_UNIT(kind)), at_b = (u32)(b.exponent - PAIR_UNIT(kind));
  deposit_product(partial + PAIR_OFFSET(kind, PRODUCTS), a.mantissa, b.mantissa, a.negative != b.negative, at_a + at_b);
  deposit_product(partial + PAIR_OFFSET(kind, SQUARES_A), a.mantissa, a.mantissa, 0, 2 * at_a);
  deposit_product(partial + PAIR_OFFSET(kind, SQUARES_B), b.mantissa, b.mantissa, 0, 2 * at_b);
  // |a - b| is the larger number less the smaller one.
  const int a_is_below = is_below(a, b);
  deposit_wide(partial + PAIR_OFFSET(kind, DISTANCES), 0, a.mantissa, a.negative != a_is_below, at_a);
  deposit_wide(partial + PAIR_OFFSET(kind, DISTANCES), 0, b.mantissa, b.negative == a_is_below, at_b);
}

// Lifts two finite elements, given d, |a| and |b|, into all fields that depend on values.
INLINE void lift_distance(WORDS i64* partial, f64 d, f64 size_a, f64 size_b, i64 place, pair_tolerance tolerance) {
  const f64 scale = tolerance.greater && size_a > size_b ? size_a : size_b;
  RAISE(partial[PAIR_PEAK], AS_I64(size_b));
  const f64 bound = tolerance.rtol * scale;
  if (!(d <= tolerance.atol + bound)) {
    ADD(partial[PAIR_OUTSIDE], 1);
    RAISE(partial[PAIR_FIRST_OUTSIDE], place);
  }
  if (d == 0 || fma(1000.0, d, -size_b) < 0) ADD(partial[PAIR_UNDER_1000TH], 1);
  if (d == 0 || fma(200.0, d, -size_b) < 0) ADD(partial[PAIR_UNDER_200TH], 1);
  if (d == 0) return;
  raise_keyed(partial + PAIR_FARTHEST, AS_I64(d), place);
  const f64 relative = d / scale;
  if (relative > 0) raise_keyed(partial + PAIR_RELATIVE, AS_I64(relative), place);
}

// As the end of lift_distance(), for d above 0, if the greatest differences so far are known.
INLINE void raise_distances(f64* farthest, f64* relative, WORDS i64* partial, f64 d, f64 scale, i64 place) {
  if (d > *farthest) {
    *farthest = d;
    raise_keyed(partial + PAIR_FARTHEST, AS_I64(d), place);
  }
  if (d / scale > *relative) {
    *relative = d / scale;
    raise_keyed(partial + PAIR_RELATIVE, AS_I64(d / scale), place);
  }
}

// Lifts two elements if one is NaN or Inf. Returns 1 if they are equal as values.
INLINE int lift_specials(WORDS i64* partial, number a, number b, i64 place) {
  RAISE(partial[PAIR_PEAK], 0);
  if (a.kind == b.kind && (a.kind == KIND_NAN || a.negative == b.negative)) {
    ADD(partial[a.kind == KIND_NAN ? PAIR_BOTH_NAN : PAIR_SAME_INF], 1);
    ADD(partial[PAIR_UNDER_1000TH], 1);
    ADD(partial[PAIR_UNDER_200TH], 1);
    return 1;
  }
  ADD(partial[a.kind == KIND_NAN || b.kind == KIND_NAN ? PAIR_NAN_ALONE : PAIR_INF_ALONE], 1);
  ADD(partial[PAIR_OUTSIDE], 1);
  RAISE(partial[PAIR_FIRST_OUTSIDE], place);
  const i64 infinity = (i64)0x7ff << 52;
  raise_keyed(partial + PAIR_FARTHEST, infinity, place);
  raise_keyed(partial + PAIR_RELATIVE, infinity, place);
  return 0;
}

// The number of steps between two floats, in the common format of their dtypes.
INLINE u64 steps_of(number a, number b, pair_kind kind) {
  if (kind.steps == STEPS_OWN) return steps_between(a.size, a.negative, b.size, b.negative);
  if (kind.steps == STEPS_BINARY64) {
    return steps_between((u64)AS_I64(fabs(a.value)), a.negative, (u64)AS_I64(fabs(b.value)), b.negative);
  }
  return steps_between(AS_U32((f32)fabs(a.value)), a.negative, AS_U32((f32)fabs(b.value)), b.negative);
}

INLINE void lift_unequal(WORDS i64* partial, i64 place) {
  ADD(partial[PAIR_UNEQUAL], 1);
  RAISE(partial[PAIR_FIRST_UNEQUAL], place);
}

// Lifts two elements into everything but the sums. Returns 1 if both are finite, so that they enter the sums.
INLINE int lift_pair_but_sums(WORDS i64* partial, number a, number b, u64 index, pair_kind kind,
                              pair_tolerance tolerance) {
  const i64 place = ~(i64)index;
  const int are_finite = a.kind == KIND_FINITE && b.kind == KIND_FINITE;
  int is_equal;
  ADD(partial[PAIR_COUNT], 1);
  if (!are_finite) {
    is_equal = lift_specials(partial, a, b, place);
  } else {
    const f64 d = distance_of(a, b);
    is_equal = d == 0;
    lift_distance(partial, d, fabs(a.value), fabs(b.value), place, tolerance);
    if (kind.steps != STEPS_NONE) RAISE(partial[PAIR_ULP], PAIR_ULP_WORD(steps_of(a, b, kind)));
  }
  if (kind.same_dtype ? a.bits != b.bits : !is_equal) lift_unequal(partial, place);
  return are_finite;
}

INLINE void lift_pair(WORDS i64* partial, number a, number b, u64 index, pair_kind kind, pair_tolerance tolerance) {
  if (lift_pair_but_sums(partial, a, b, index, kind, tolerance)) lift_pair_sums(partial, a, b, kind);
}

#endif
