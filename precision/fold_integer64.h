// The fold of int64 and uint64: 128-bit sums and 192-bit sums of squares from 32-bit halves. One text
// for C++ and OpenCL C, included once a dtype.

typedef struct {
  v_i64 sum_low, sum_high;
  v_u64 square[6];  // low and high halves of low^2, low * high, high^2 of the magnitude
  v_i64 top, bottom;
  v_u64 zeros, negatives;
} NAME(fold);

INLINE void NAME(open)(NAME(fold) * fold, const int needs) {
  (void)needs;
  fold->sum_low = fold->sum_high = SPLAT(i64, 0);
  for (int k = 0; k < 6; ++k) fold->square[k] = SPLAT(u64, 0);
  fold->top = SPLAT(i64, PARTIAL_NO_KEY);
  fold->bottom = SPLAT(i64, ~PARTIAL_NO_KEY);
  fold->zeros = fold->negatives = SPLAT(u64, 0);
}

// Lanes' halves stay below 2^64 for the 2^31 elements a lane may see: no flush is needed before.
INLINE void NAME(close)(NAME(fold) * fold, WORDS i64* partial, const int needs) {
  if (needs & NEED_SUM) {
    deposit(partial + PARTIAL_SUM, ADD_LANES(i64, fold->sum_low), 0);
    deposit(partial + PARTIAL_SUM, ADD_LANES(i64, fold->sum_high), 32);
  }
  if (needs & NEED_SQUARES) {
    for (int k = 0; k < 6; ++k) {
      const u32 position = 32 * (k / 2 + k % 2) + (k / 2 == 1 ? 1 : 0);  // low * high counts twice
      deposit_unsigned(partial + SQUARES, (u64)ADD_LANES(u64, fold->square[k]), position);
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


INLINE void NAME(fold_group)(NAME(fold) * fold, WORDS i64* partial, SPACE const u8* p,
                             const int needs) {
  (void)partial;
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
      fold->sum_low += x & 0xffffffff;
      fold->sum_high += IS_SIGNED ? x >> 32 : AS(i64, AS(u64, x) >> 32);
    }
    if (needs & NEED_SQUARES) {
      const v_i64 sign = IS_SIGNED ? x >> 63 : SPLAT(i64, 0);
      const v_u64 magnitude = AS(u64, (x ^ sign) - sign);
      const v_u64 low = magnitude & 0xffffffff, high = magnitude >> 32;
      const v_u64 products[3] = {MUL_32(low, low), MUL_32(low, high), MUL_32(high, high)};
      for (int k = 0; k < 3; ++k) {
        fold->square[2 * k] += products[k] & 0xffffffff;
        fold->square[2 * k + 1] += products[k] >> 32;
      }
    }
  }
}
