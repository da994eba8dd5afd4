// The fold of float64: exact sums, as fold_windowed.h has them, for 53-bit mantissas. One text for C++
// and OpenCL C; read that one first.
//
// A window's elements are scaled by a power of two to one fixed place, so that neither huge nor tiny
// data overflow or underflow on the way. d is rounded to hi, of 26 bits, which leaves lo, of 26 bits
// and a sign: their products are exact without fma too. The sum of d and the sums of hi*hi, hi*lo and
// lo*lo are each kept in a high and a low part.
#define LOG2_STEPS_DOUBLE 6
#define SPAN_DOUBLE 18
#define LO_BITS 26
// A sum whose addends stay below 2^bits units keeps its part above 2^SPLIT_DOUBLE(bits) apart:
// STEPS * 2^(bits - split) and STEPS * 2^split are both at most 2^51.
#define SPLIT_DOUBLE(bits) (LOG2_STEPS_DOUBLE + (bits) - 51)
// The unit of a window's elements after scaling, as a power of two.
#define SCALED_UNIT (-60)

// The four sums: unit and bits of their addends, in units of the scaled window and of its square.
enum { DOUBLE_SUM, DOUBLE_HI_HI, DOUBLE_HI_LO, DOUBLE_LO_LO, DOUBLE_SUMS };
#define DOUBLE_UNIT(k) ((k) == DOUBLE_HI_HI ? 2 * LO_BITS : (k) == DOUBLE_HI_LO ? LO_BITS : 0)
#define DOUBLE_SPLIT(k)                                                   \
  SPLIT_DOUBLE((k) == DOUBLE_SUM     ? 53 + SPAN_DOUBLE                   \
               : (k) == DOUBLE_HI_HI ? 2 * (53 - LO_BITS + SPAN_DOUBLE)   \
               : (k) == DOUBLE_HI_LO ? 53 + 2 * SPAN_DOUBLE               \
                                     : 2 * (LO_BITS + SPAN_DOUBLE))
#define DOUBLE_EXPONENT(k) ((k) == DOUBLE_SUM ? SCALED_UNIT : 2 * SCALED_UNIT + DOUBLE_UNIT(k))
// 1.5 * 2^(52 + exponent), as bits
#define DOUBLE_START(exponent) (((u64)(1023 + 52 + (exponent)) << 52) | ((u64)1 << 51))

// Adds the exact product a * b to sum k, in two parts.
#define SPLIT_PRODUCT(k, a, b)                      \
  {                                                 \
    const v_f64 raised = MUL_ADD(a, b, high[k]);    \
    const v_f64 taken = raised - high[k];           \
    high[k] = raised;                               \
    low[k] += MUL_ADD(a, b, -taken);                \
  }

typedef struct {
  v_f64 high[SETS][DOUBLE_SUMS], low[SETS][DOUBLE_SUMS];
  f64 scale;
  v_i64 top, bottom;
  v_u64 zeros, negatives;
  u64 smallest, largest;
  u32 unit, steps;
} NAME(fold);

INLINE void NAME(clear)(NAME(fold) * fold) {
  for (int s = 0; s < SETS; ++s) {
    for (int k = 0; k < DOUBLE_SUMS; ++k) {
      fold->high[s][k] = SPLAT(f64, AS_F64(DOUBLE_START(DOUBLE_EXPONENT(k) + DOUBLE_SPLIT(k))));
      fold->low[s][k] = SPLAT(f64, AS_F64(DOUBLE_START(DOUBLE_EXPONENT(k))));
    }
  }
  fold->zeros = fold->negatives = SPLAT(u64, 0);
  fold->steps = 0;
}

INLINE void NAME(place)(NAME(fold) * fold, i32 highest) {
  highest = MIN(highest, MAX_EXPONENT - 1);
  const i32 lowest = MAX(highest - SPAN_DOUBLE, 1);
  fold->largest = ((u64)(highest + 1) << 52) - 1;
  fold->smallest = lowest == 1 && SUBNORMALS_CONVERT ? 1 : (u64)lowest << 52;
  fold->unit = (u32)(lowest - 1);
  // Takes the smallest elements' last bit from 2^(lowest - 1 - 1074) to 2^SCALED_UNIT; normal for
  // every window.
  fold->scale = AS_F64((u64)(1023 + SCALED_UNIT + 1074 - (lowest - 1)) << 52);
  NAME(clear)(fold);
}

INLINE void NAME(flush)(NAME(fold) * fold, WORDS i64* partial, const int needs) {
  if (fold->steps == 0) return;
  for (int k = 0; k < DOUBLE_SUMS; ++k) {
    if (!(needs & (k == DOUBLE_SUM ? NEED_SUM : NEED_SQUARES))) continue;
    v_i64 high = SPLAT(i64, 0), low = SPLAT(i64, 0);
    for (int s = 0; s < SETS; ++s) {
      high += AS(i64, fold->high[s][k]) - (i64)DOUBLE_START(DOUBLE_EXPONENT(k) + DOUBLE_SPLIT(k));
      low += AS(i64, fold->low[s][k]) - (i64)DOUBLE_START(DOUBLE_EXPONENT(k));
    }
    WORDS i64* words = partial + (k == DOUBLE_SUM ? PARTIAL_SUM : SQUARES);
    // hi*lo counts twice in the square
    const u32 unit = k == DOUBLE_SUM ? fold->unit
                                     : 2 * fold->unit + DOUBLE_UNIT(k) + (k == DOUBLE_HI_LO ? 1 : 0);
    deposit(words, ADD_LANES(i64, high), unit + DOUBLE_SPLIT(k));
    deposit(words, ADD_LANES(i64, low), unit);
  }
  if (needs & NEED_SIGNS) {
    ADD(partial[PARTIAL_ZEROS], ADD_LANES(u64, fold->zeros));
    ADD(partial[PARTIAL_NEGATIVES], ADD_LANES(u64, fold->negatives));
  }
  NAME(clear)(fold);
}

INLINE void NAME(open)(NAME(fold) * fold, const int needs) {
  fold->top = SPLAT(i64, ~(i64)MAGNITUDE_MASK);
  fold->bottom = SPLAT(i64, (i64)MAGNITUDE_MASK);
  NAME(place)(fold, 1023 + 3);
  if ((needs & (NEED_SUM | NEED_SQUARES)) == 0) {
    fold->smallest = 1;
    fold->largest = INF_BITS - 1;
  }
}

INLINE void NAME(close)(NAME(fold) * fold, WORDS i64* partial, const int needs) {
  NAME(flush)(fold, partial, needs);
  if (needs & NEED_EXTREMA) {
    const i64 top = MAX_LANE(i64, fold->top), bottom = MIN_LANE(i64, fold->bottom);
    if (top >= bottom) raise_extrema(partial, top, bottom);
  }
}

NOINLINE int NAME(settle)(NAME(fold) * fold, WORDS i64* partial, SPACE const u8* p, i64 top,
                          i64 bottom, u64 least, const int needs) {
  const i64 largest = MAX(MAX(top, ~bottom), (i64)0);
  const i32 highest = MIN((i32)(largest >> 52) + 1, MAX_EXPONENT - 1);
  const i32 lowest = MAX(highest - SPAN_DOUBLE, 1);
  const int finite = largest < INF_BITS;
  const int fits =
      finite && ((i32)(least >> 52) >= lowest || (SUBNORMALS_CONVERT && lowest == 1));
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
  v_i64 top = SPLAT(i64, ~(i64)MAGNITUDE_MASK), bottom = SPLAT(i64, (i64)MAGNITUDE_MASK);
  v_u64 least = SPLAT(u64, (u64)-1), zeros = SPLAT(u64, 0), negatives = SPLAT(u64, 0);
  for (int i = 0; i < GROUP; i += LANES(u64)) {
    const v_u64 bits = LOAD(u64, p + i * 8);
    const v_u64 magnitude = bits & MAGNITUDE_MASK;
    const v_i64 key = KEY(i64, bits);
    top = MAX(top, key);
    bottom = MIN(bottom, key);
    least = MIN(least, magnitude - (u64)1);
    if (needs & NEED_SIGNS) {
      COUNT_INTO(u64, zeros, magnitude == 0);
      COUNT_INTO(u64, negatives, key < (i64)-1);
    }
  }
  if (UNLIKELY(ANY(i64, (top > (i64)fold->largest) | (bottom < ~(i64)fold->largest) |
                            (least < fold->smallest - 1)))) {
    if (!NAME(settle)(fold, partial, p, MAX_LANE(i64, top), MIN_LANE(i64, bottom),
                      MIN_LANE(u64, least) + 1, needs))
      return;
  }
  fold->top = MAX(fold->top, top);
  fold->bottom = MIN(fold->bottom, bottom);
  fold->zeros += zeros;
  fold->negatives += negatives;
  for (int i = 0; i < GROUP; i += LANES(f64) * SETS) {
    for (int s = 0; s < SETS; ++s) {
      v_f64* high = fold->high[s];
      v_f64* low = fold->low[s];
      const v_f64 d = AS(f64, LOAD(u64, p + (i + s * LANES(f64)) * 8)) * fold->scale;
      if (needs & NEED_SUM) {
        const v_f64 raised = d + high[DOUBLE_SUM];
        const v_f64 taken = raised - high[DOUBLE_SUM];
        high[DOUBLE_SUM] = raised;
        low[DOUBLE_SUM] += d - taken;
      }
      if (needs & NEED_SQUARES) {
        const u64 middle = (u64)1 << LO_BITS;  // half of hi's last bit
        v_f64 hi = AS(f64, (AS(u64, d) + middle) & ~(2 * middle - 1));
        if (UNLIKELY(fold->unit == 0)) {  // subnormals: their leading bits reach below hi's unit
          const v_f64 rounder = SPLAT(f64, AS_F64(DOUBLE_START(SCALED_UNIT + LO_BITS)));
          hi = hi + rounder - rounder;
        }
        const v_f64 lo = d - hi;
        SPLIT_PRODUCT(DOUBLE_HI_HI, hi, hi);
        SPLIT_PRODUCT(DOUBLE_HI_LO, hi, lo);
        SPLIT_PRODUCT(DOUBLE_LO_LO, lo, lo);
      }
    }
  }
  fold->steps += GROUP / (LANES(f64) * SETS);
  if (fold->steps == 1 << LOG2_STEPS_DOUBLE) NAME(flush)(fold, partial, needs);
}
