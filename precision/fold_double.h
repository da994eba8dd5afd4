// The fold of float64: exact sums, as fold_windowed.h has them, for 53-bit mantissas. One text for C++
// and OpenCL C; read that one first.
//
// A window's elements are scaled by a power of two to one fixed place, so that neither huge nor tiny
// data overflow or underflow on the way. d*d is the rounded product and its error, both binary64 numbers;
// the sums of d, of the products and of the errors are each kept in a high and a low part.
#ifdef __cplusplus  // OpenCL C has it in front
#include "precision/fold_extremes.h"
#endif

#define LOG2_STEPS_DOUBLE 6
#define SPAN_DOUBLE 18
#define DRAINS_DOUBLE 128  // 2^7 drains of SETS * 2^51 in 2^3 lanes stay in 63 bits
// The unit of a window's elements after scaling, as a power of two.
#define SCALED_UNIT (-60)

// Elements are 53 bits of the window's unit, and up to SPAN_DOUBLE more. So products are at least 2^104,
// which leaves their last bit at 2^52, and the errors are half a last bit of the largest product.
enum { DOUBLE_SUM, DOUBLE_PRODUCT, DOUBLE_ERROR, DOUBLE_SUMS };
#define DOUBLE_UNIT(k) ((k) == DOUBLE_PRODUCT ? 52 : 0)
#define DOUBLE_BITS(k) ((k) == DOUBLE_SUM ? 53 + SPAN_DOUBLE : 54 + 2 * SPAN_DOUBLE)
// The part above 2^SPLIT_DOUBLE is kept apart: with addends below 2^DOUBLE_BITS units,
// STEPS * 2^(bits - split) and STEPS * 2^split are both at most 2^51.
#define SPLIT_DOUBLE(k) (LOG2_STEPS_DOUBLE + DOUBLE_BITS(k) - 51)
#define DOUBLE_EXPONENT(k) ((k) == DOUBLE_SUM ? SCALED_UNIT : 2 * SCALED_UNIT + DOUBLE_UNIT(k))
// 1.5 * 2^(52 + exponent), as bits
#define DOUBLE_START(exponent) (((u64)(1023 + 52 + (exponent)) << 52) | ((u64)1 << 51))
#define HIGH_START(k) DOUBLE_START(DOUBLE_EXPONENT(k) + SPLIT_DOUBLE(k))
#define LOW_START(k) DOUBLE_START(DOUBLE_EXPONENT(k))

typedef struct {
  v_f64 high[SETS][DOUBLE_SUMS], low[SETS][DOUBLE_SUMS];
  v_i64 high_total[DOUBLE_SUMS], low_total[DOUBLE_SUMS];
  NAME(seen) seen;
  f64 scale;
  u64 smallest, largest;
  u32 unit, steps, drains;
} NAME(fold);

INLINE void NAME(clear)(NAME(fold) * fold) {
  UNROLL
  for (int k = 0; k < DOUBLE_SUMS; ++k) {
    UNROLL
    for (int s = 0; s < SETS; ++s) {
      fold->high[s][k] = SPLAT(f64, AS_F64(HIGH_START(k)));
      fold->low[s][k] = SPLAT(f64, AS_F64(LOW_START(k)));
    }
  }
  fold->steps = 0;
}

INLINE void NAME(place)(NAME(fold) * fold, i32 highest) {
  highest = MIN(highest, MAX_EXPONENT - 1);
  const i32 lowest = MAX(highest - SPAN_DOUBLE, 1);
  fold->largest = ((u64)(highest + 1) << 52) - 1;
  fold->smallest = (u64)lowest << 52;  // a subnormal's product may end below the unit
  fold->unit = (u32)(lowest - 1);
  // Takes the smallest elements' last bit from 2^(lowest - 1 - 1074) to 2^SCALED_UNIT; normal for
  // every window.
  fold->scale = AS_F64((u64)(1023 + SCALED_UNIT + 1074 - (lowest - 1)) << 52);
  UNROLL
  for (int k = 0; k < DOUBLE_SUMS; ++k) fold->high_total[k] = fold->low_total[k] = SPLAT(i64, 0);
  fold->drains = 0;
  NAME(clear)(fold);
}

INLINE void NAME(drain)(NAME(fold) * fold) {
  UNROLL
  for (int k = 0; k < DOUBLE_SUMS; ++k) {
    UNROLL
    for (int s = 0; s < SETS; ++s) {
      fold->high_total[k] += AS(i64, fold->high[s][k]) - (i64)HIGH_START(k);
      fold->low_total[k] += AS(i64, fold->low[s][k]) - (i64)LOW_START(k);
    }
  }
  ++fold->drains;
  NAME(clear)(fold);
}

INLINE void NAME(flush)(NAME(fold) * fold, WORDS i64* partial, const int needs) {
  if (fold->steps != 0) NAME(drain)(fold);
  if (fold->drains == 0) return;
  UNROLL
  for (int k = 0; k < DOUBLE_SUMS; ++k) {
    if (!(needs & (k == DOUBLE_SUM ? NEED_SUM : NEED_SQUARES))) continue;
    WORDS i64* words = partial + (k == DOUBLE_SUM ? PARTIAL_SUM : SQUARES);
    const u32 unit = k == DOUBLE_SUM ? fold->unit : 2 * fold->unit + DOUBLE_UNIT(k);
    deposit(words, ADD_LANES(i64, fold->high_total[k]), unit + SPLIT_DOUBLE(k));
    deposit(words, ADD_LANES(i64, fold->low_total[k]), unit);
    fold->high_total[k] = fold->low_total[k] = SPLAT(i64, 0);
  }
  fold->drains = 0;
}

INLINE void NAME(open)(NAME(fold) * fold, const int needs) {
  NAME(see_nothing)(&fold->seen);
  NAME(place)(fold, 1023 + 3);
  if ((needs & (NEED_SUM | NEED_SQUARES)) == 0) {
    fold->smallest = 1;
    fold->largest = INF_BITS - 1;
  }
}

INLINE void NAME(close)(NAME(fold) * fold, WORDS i64* partial, const int needs) {
  NAME(flush)(fold, partial, needs);
  NAME(close_seen)(&fold->seen, partial, needs);
}

NOINLINE int NAME(settle)(NAME(fold) * fold, WORDS i64* partial, SPACE const u8* p, i64 largest, u64 least,
                          const int needs) {
  const i32 highest = MIN((i32)(largest >> 52) + 1, MAX_EXPONENT - 1);
  const i32 lowest = MAX(highest - SPAN_DOUBLE, 1);
  const int finite = largest < INF_BITS;
  const int fits = finite && (i32)(least >> 52) >= lowest;
  if (fits || (finite && largest > (i64)fold->largest)) {
    NAME(flush)(fold, partial, needs);
    NAME(place)(fold, highest);
  }
  if (fits) return 1;
  for (int i = 0; i < GROUP; ++i) NAME(lift)(partial, p + i * 8);
  return 0;
}

INLINE void NAME(fold_group)(NAME(fold) * fold, WORDS i64* partial, SPACE const u8* p,
                             const int needs) {
  NAME(seen) seen;
  NAME(see)(&seen, p, needs);
  const v_i64 largest = NAME(largest_seen)(&seen);
  if (UNLIKELY(ANY(i64, (largest > (i64)fold->largest) | (seen.near < fold->smallest)))) {
    v_u64 least = seen.near - (u64)1;
    if (ANY(i64, seen.near == (u64)0)) least = NAME(see_zeros)(&seen, p, needs);
    if (ANY(i64, (largest > (i64)fold->largest) | (least < fold->smallest - 1))) {
      if (!NAME(settle)(fold, partial, p, MAX_LANE(i64, largest), MIN_LANE(u64, least) + 1, needs)) return;
    }
  }
  NAME(add_seen)(&fold->seen, &seen, partial, needs);
  const v_f64 scale = SPLAT(f64, fold->scale);
  UNROLL
  for (int i = 0; i < GROUP; i += LANES(f64) * SETS) {
    UNROLL
    for (int s = 0; s < SETS; ++s) {
      v_f64* high = fold->high[s];
      v_f64* low = fold->low[s];
      const v_f64 x = AS(f64, LOAD(u64, p + (i + s * LANES(f64)) * 8));
      if (needs & NEED_SUM) {
        const v_f64 raised = MUL_ADD(x, scale, high[DOUBLE_SUM]);
        const v_f64 taken = raised - high[DOUBLE_SUM];
        high[DOUBLE_SUM] = raised;
        low[DOUBLE_SUM] += MUL_ADD(x, scale, -taken);
      }
      if (needs & NEED_SQUARES) {
        const v_f64 d = x * scale, product = d * d, error = SQUARE_ERROR(d, product);
        const v_f64 raised = MUL_ADD(d, d, high[DOUBLE_PRODUCT]);
        const v_f64 taken = raised - high[DOUBLE_PRODUCT];
        high[DOUBLE_PRODUCT] = raised;
        low[DOUBLE_PRODUCT] += product - taken;
        const v_f64 error_raised = error + high[DOUBLE_ERROR];
        const v_f64 error_taken = error_raised - high[DOUBLE_ERROR];
        high[DOUBLE_ERROR] = error_raised;
        low[DOUBLE_ERROR] += error - error_taken;
      }
    }
  }
  fold->steps += GROUP / (LANES(f64) * SETS);
  if (fold->steps == 1 << LOG2_STEPS_DOUBLE) {
    NAME(drain)(fold);
    if (fold->drains == DRAINS_DOUBLE) NAME(flush)(fold, partial, needs);
  }
}
