// A number of any dtype, and the distance of two numbers. One text for C++ and OpenCL C.
#ifndef TENSORSTAT_PRECISION_PAIR_NUMBER_H
#define TENSORSTAT_PRECISION_PAIR_NUMBER_H

enum { KIND_FINITE, KIND_INF, KIND_NAN };

typedef struct {
  int kind;
  int negative;
  u64 bits;      // as they are stored
  u64 size;      // for floats, the bits without the sign: neighbours differ by 1
  u64 mantissa;  // a finite number is +-mantissa * 2^exponent
  i32 exponent;
  f64 value;     // the nearest binary64; exact but for 64-bit integers beyond 2^53
} number;

// 2^exponent, for exponents from -1022 to 1023.
INLINE f64 power_of_two(i32 exponent) { return AS_F64((u64)(1023 + exponent) << 52); }

// Shifts the mantissa, which is not 0, until its first bit is set.
INLINE void fill_mantissa(number* x) {
  for (; x->mantissa >> 63 == 0; x->mantissa <<= 1) --x->exponent;
}

// |a| < |b|, if the first bits of both mantissas are set.
INLINE int is_smaller(number a, number b) {
  return a.exponent != b.exponent ? a.exponent < b.exponent : a.mantissa < b.mantissa;
}

// |a - b| of finite numbers, rounded once, if one is a 64-bit integer with more than 53 bits.
NOINLINE f64 wide_distance(number a, number b) {
  if (a.mantissa == 0 || b.mantissa == 0) return fabs(a.mantissa == 0 ? b.value : a.value);
  fill_mantissa(&a);
  fill_mantissa(&b);
  if (is_smaller(a, b)) {
    const number larger = b;
    b = a;
    a = larger;
  }
  // Both numbers as 128 bits with a free first bit. Shifting may drop bits of b below the last one; `more` says so.
  const u32 shift = (u32)(a.exponent - b.exponent);
  const u64 a_high = a.mantissa >> 1, a_low = a.mantissa << 63;
  u64 b_high = b.mantissa >> 1, b_low = b.mantissa << 63, more = 0;
  if (shift >= 128) {
    more = 1;
    b_high = b_low = 0;
  } else {
    if (shift >= 64) {
      more = b_low;
      b_low = b_high;
      b_high = 0;
    }
    const u32 rest = shift % 64;
    if (rest != 0) {
      more |= b_low << (64 - rest);
      b_low = b_low >> rest | b_high << (64 - rest);
      b_high >>= rest;
    }
    more = more != 0;
  }
  u64 high, low;
  if (a.negative == b.negative) {
    low = a_low - b_low - more;  // the exact difference is above this by less than 1
    high = a_high - b_high - (a_low < b_low || (more && a_low == b_low));
  } else {
    low = a_low + b_low;
    high = a_high + b_high + (low < a_low);
  }
  i32 exponent = a.exponent + 1;  // the exponent of `high`
  if (high == 0) {
    high = low;
    low = 0;
    exponent -= 64;
  }
  if (high == 0) return 0;
  for (; high >> 63 == 0; --exponent) {
    high = high << 1 | low >> 63;
    low <<= 1;
  }
  // The last bit is set if anything follows. It is far below the bits that the conversion rounds.
  return (f64)(high | (low != 0 || more)) * power_of_two(exponent);
}

// |a - b| of finite numbers, rounded once to binary64.
INLINE f64 distance_of(number a, number b) {
  if ((a.mantissa | b.mantissa) >> 53 == 0) return fabs(a.value - b.value);
  // The distance of two integers is a whole number. Usually it has at most 64 bits.
  const u64 sum = a.mantissa + b.mantissa;
  const u64 between = a.mantissa > b.mantissa ? a.mantissa - b.mantissa : b.mantissa - a.mantissa;
  if ((a.exponent | b.exponent) == 0 && (a.negative == b.negative || sum >= a.mantissa)) {
    return (f64)(a.negative == b.negative ? between : sum);
  }
  return wide_distance(a, b);
}

// a < b, for finite numbers.
INLINE int is_below(number a, number b) {
  if (a.value != b.value) return a.value < b.value;
  if ((a.mantissa | b.mantissa) >> 53 == 0) return 0;  // equal; longer numbers may be equal only by rounding
  fill_mantissa(&a);
  fill_mantissa(&b);
  return a.negative ? is_smaller(b, a) : is_smaller(a, b);
}

// The number of steps between two sizes with signs, in one format. There are 0 steps between +0 and -0.
INLINE u64 steps_between(u64 size_a, int negative_a, u64 size_b, int negative_b) {
  if (negative_a != negative_b) return size_a + size_b;
  return size_a > size_b ? size_a - size_b : size_b - size_a;
}

#endif
