// Lifts an element into a partial. This is the definition; every faster path must agree with it. One text for C++ and
// OpenCL C. The folds lift the elements that do not fill a group.
//
// A lift takes n equal elements, |n| below 128. If n is negative, it subtracts what a fold has added; extrema do not
// change.
#ifndef TENSORSTAT_PRECISION_LIFT_H
#define TENSORSTAT_PRECISION_LIFT_H

#include "precision/sums.h"

INLINE void raise_extrema(WORDS i64* partial, i64 highest, i64 lowest) {
  RAISE(partial[PARTIAL_HIGHEST], highest);
  RAISE(partial[PARTIAL_LOWEST], ~lowest);
}

// What a fold has seen so far.
enum { SEEN_NAN = 1, SEEN_INF = 2 };

// Raises the extrema to these infinities. `infinity` is the key of +Inf.
INLINE void raise_infinities(WORDS i64* partial, i64 infinity, i64 positive, i64 negative) {
  if (positive != 0) raise_extrema(partial, infinity, infinity);
  if (negative != 0) raise_extrema(partial, ~infinity, ~infinity);
}

// Widens the keys of extrema to infinities. `infinity` is the key of +Inf.
INLINE void widen_to_infinities(i64 infinity, int positive, int negative, i64* highest, i64* lowest) {
  if (positive) *highest = infinity;
  if (positive && *lowest > infinity) *lowest = infinity;
  if (negative) *lowest = ~infinity;
  if (negative && *highest < ~infinity) *highest = ~infinity;
}

// Counts n equal floats, and raises the extrema. `magnitude` and `infinity` are the bits of |x| and of Inf. Returns
// whether they are finite.
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
