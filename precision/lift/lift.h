// An element into a partial: the definition that every faster path must agree with. One text for C++
// and OpenCL C. The folds come here with what does not fill a group.
//
// Of n equal elements, n below 128 in size: one below 0 takes off what a fold has added. Extrema stay.
#ifndef TENSORSTAT_PRECISION_LIFT_H
#define TENSORSTAT_PRECISION_LIFT_H

#include "precision/sums.h"

INLINE void raise_extrema(WORDS i64* partial, i64 highest, i64 lowest) {
  RAISE(partial[PARTIAL_HIGHEST], highest);
  RAISE(partial[PARTIAL_LOWEST], ~lowest);
}

// What a fold has come across so far.
enum { SEEN_NAN = 1, SEEN_INF = 2 };

// The extrema of so many infinities, whose key is this.
INLINE void raise_infinities(WORDS i64* partial, i64 infinity, i64 positive, i64 negative) {
  if (positive != 0) raise_extrema(partial, infinity, infinity);
  if (negative != 0) raise_extrema(partial, ~infinity, ~infinity);
}

// The keys of extrema where there are infinities beside, whose key is this.
INLINE void widen_to_infinities(i64 infinity, int positive, int negative, i64* highest, i64* lowest) {
  if (positive) *highest = infinity;
  if (positive && *lowest > infinity) *lowest = infinity;
  if (negative) *lowest = ~infinity;
  if (negative && *highest < ~infinity) *highest = ~infinity;
}

// Counts and extrema of n floats with the same key, bits without the sign, and those of Inf. Returns whether
// they are finite.
INLINE int lift_float(WORDS i64* partial, i64 key, i64 magnitude, i64 infinity, i64 n) {
  if (magnitude > infinity) {
    ADD(partial[PARTIAL_NANS], n);
    return 0;
  }
  raise_extrema(partial, key, key);
  if (key < -1) ADD(partial[PARTIAL_NEGATIVES], n);
  if (magnitude == 0) ADD(partial[PARTIAL_ZEROS], n);
  if (magnitude < infinity) return 1;
  if (key < 0) {
    ADD(partial[PARTIAL_NEGATIVE_INFS], n);
  } else {
    ADD(partial[PARTIAL_POSITIVE_INFS], n);
  }
  return 0;
}

// n * magnitude^2 * 2^position units
INLINE void deposit_squares(WORDS i64* words, u64 magnitude, i64 n, u32 position) {
  const u64 high = magnitude >> 32, low = magnitude & 0xffffffff;
  deposit_times(words, low * low, n, position);
  if (high != 0) {
    deposit_times(words, high * low, n, position + 33);
    deposit_times(words, high * high, n, position + 64);
  }
}

#endif
