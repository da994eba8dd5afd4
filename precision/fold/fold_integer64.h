// The fold of int64 and uint64: 128-bit sums and 192-bit sums of squares from 32-bit halves. One text for C++ and
// OpenCL C, included once for each dtype.
//
// A sum of 64-bit numbers is kept as two sums: of the numbers modulo 2^64, and of their upper halves. The first less
// 2^32 times the second is the sum of the lower halves. It stays below 2^64 for the 2^31 elements that a lane may get,
// so no flush is needed before the end.
#include "precision/fold/fold_terms.h"

typedef struct {
  v_u64 linear[LINEAR_SUMS], linear_high[LINEAR_SUMS];  // SUM adds x, the others sizes |x|
  v_u64 square[3], square_high[3];                      // of low^2, low * high, high^2 of the magnitude
  v_i64 top, bottom;
  v_u64 zeros, negatives;
} Fold;

INLINE void open(Fold* fold, const int needs) {
  (void)needs;
  FOR_EACH_LINEAR(fold->linear[sum] = fold->linear_high[sum] = SPLAT(u64, 0);)
  UNROLL
  for (int k = 0; k < 3; ++k) fold->square[k] = fold->square_high[k] = SPLAT(u64, 0);
  fold->top = SPLAT(i64, PARTIAL_NO_KEY);
  fold->bottom = SPLAT(i64, ~PARTIAL_NO_KEY);
  fold->zeros = fold->negatives = SPLAT(u64, 0);
}

INLINE void deposit_halves(WORDS i64* words, v_u64 whole, v_u64 high, u32 position, i64 times) {
  const i64 upper = ADD_LANES(u64, high);
  deposit(words, times * (i64)((u64)ADD_LANES(u64, whole) - ((u64)upper << 32)), position);
  deposit(words, times * upper, position + 32);
}

INLINE void close(Fold* fold, WORDS i64* partial, const int needs) {
  FOR_EACH_LINEAR(if (needs & linear_need(sum)) {
    const i64 times = sum == LINEAR_SUM ? 1 : factor_of_sizes(sum);
    deposit_halves(partial + LINEAR_OFFSET(sum), fold->linear[sum], fold->linear_high[sum], 0, times);
  })
  if (needs & NEED_SQUARES) {
    UNROLL
    for (int k = 0; k < 3; ++k) {
      const u32 position = 32 * k + (k == 1 ? 1 : 0);  // low * high counts twice
      deposit_halves(partial + OFFSET(SQUARES), fold->square[k], fold->square_high[k], position, 1);
    }
  }
  if (needs & NEED_SIGNS) {
    ADD(partial[PARTIAL_ZEROS], ADD_LANES(u64, fold->zeros));
    ADD(partial[PARTIAL_NEGATIVES], ADD_LANES(u64, fold->negatives));
  }
  if (needs & NEED_EXTREMA) {
    const i64 top = MAX_LANE(i64, fold->top), bottom = MIN_LANE(i64, fold->bottom);
    if (top >= bottom) raise_extrema(partial, top, bottom);
  }
}

// What the fold has seen so far, for fold_indices.h: returns SEEN_NAN and SEEN_INF, and sets the keys of the extrema.
// If there is no number, the highest lies below the lowest.
INLINE int so_far(const Fold* fold, const WORDS i64* partial, SPACE const u8* p, const u32 count, i64* highest,
                  i64* lowest) {
  (void)partial;
  (void)p;
  (void)count;
  *highest = MAX_LANE(i64, fold->top);
  *lowest = MIN_LANE(i64, fold->bottom);
  return 0;
}

INLINE u32 fold_some(Fold* fold, WORDS i64* partial, SPACE const u8* p, const u64 left, SPACE const u8* from,
                     const int needs) {
  (void)left;
  (void)from;
  (void)partial;
  UNROLL
  for (int i = 0; i < GROUP; i += LANES(i64)) {
    const v_i64 x = LOAD(i64, p + i * 8);
    const v_i64 key = x ^ KEY_FLIP;
    fold->top = MAX(fold->top, key);
    fold->bottom = MIN(fold->bottom, key);
    if (needs & NEED_SIGNS) {
      COUNT_INTO(u64, fold->zeros, x == 0);
      if (IS_SIGNED) COUNT_INTO(u64, fold->negatives, x < 0);
    }
    if (needs & NEED_SUM) {
      fold->linear[LINEAR_SUM] += AS(u64, x);
      fold->linear_high[LINEAR_SUM] += IS_SIGNED ? AS(u64, x >> 32) : AS(u64, x) >> 32;
    }
    const v_i64 sign = IS_SIGNED ? x >> 63 : SPLAT(i64, 0);
    const v_u64 size = AS(u64, x ^ sign) - AS(u64, sign);
    FOR_EACH_LINEAR(if (sum != LINEAR_SUM && (needs & linear_need(sum))) {
      const v_u64 taken = linear_sizes(size, AS(u64, sign), sum);
      fold->linear[sum] += taken;
      fold->linear_high[sum] += taken >> 32;
    })
    if (needs & NEED_SQUARES) {
      const v_u64 low = size, high = size >> 32;
      const v_u64 products[3] = {MUL_32(low, low), MUL_32(low, high), MUL_32(high, high)};
      UNROLL
      for (int k = 0; k < 3; ++k) {
        fold->square[k] += products[k];
        fold->square_high[k] += products[k] >> 32;
      }
    }
  }
  return GROUP;
}
