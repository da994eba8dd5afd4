// The fold of float16, bfloat16 and float32: exact sums at the speed of memory. One text for C++ and
// OpenCL C, included once a dtype; host/lanes.h and kernels-cl/lanes.cl say what a vector is.
//
// Every value becomes a binary64 d, and each lane keeps the sum of d, and the sum of d*d in two parts.
// An accumulator starts at 1.5 * 2^52 of its units, so that its bits less the start's are its integer
// sum. With all exponents inside a window, no operation below rounds, except the addition that splits
// d*d at the coarser unit `high`; and that one's error, exact again, is what `low` adds up. All being
// exact, neither contraction to fma nor a caller's rounding mode can change a bit. The splitting is
// that of Rump, Ogita and Oishi's accurate summation; the proof is in precision/README.md.
//
// A group of elements that the window does not hold moves it; or, when the group alone spans too many
// binades or holds NaN or Inf, its elements are lifted one by one.

// A lane adds 2^LOG2_STEPS elements between flushes. Its integers stay within 2^51 when
// STEPS * 2^(SPAN + MANTISSA_BITS) does, SPAN being how many binades apart elements may lie; the same
// for the squares' low part gives SPLIT, the coarser unit.
#define LOG2_STEPS 9
#define SPAN (51 - MANTISSA_BITS - LOG2_STEPS)
#define SPLIT (LOG2_STEPS + 2 * (SPAN + MANTISSA_BITS) - 51)

typedef struct {
  v_f64 sum[SETS], high[SETS], low[SETS];
  f64 sum_start, high_start, low_start;
  VECTOR_OF(SBITS) top, bottom;
  VECTOR_OF(UBITS) zeros, negatives;
  UBITS smallest, largest;  // the window, as bits without the sign; zeros are always inside
  u32 unit;                 // the window's unit is 2^unit of the partial's
  u32 steps;                // since the last flush
} NAME(fold);

// 1.5 * 2^(52 + exponent)
INLINE f64 NAME(start)(i32 exponent) {
  return AS_F64(((u64)(1023 + 52 + exponent) << 52) | ((u64)1 << 51));
}

INLINE void NAME(clear)(NAME(fold) * fold) {
  for (int s = 0; s < SETS; ++s) {
    fold->sum[s] = SPLAT(f64, fold->sum_start);
    fold->high[s] = SPLAT(f64, fold->high_start);
    fold->low[s] = SPLAT(f64, fold->low_start);
  }
  fold->zeros = fold->negatives = SPLAT(UBITS, 0);
  fold->steps = 0;
}

// Puts the window's upper end at the stored exponent `highest`.
INLINE void NAME(place)(NAME(fold) * fold, i32 highest) {
  highest = MIN(highest, MAX_EXPONENT - 1);
  const i32 lowest = MAX(highest - SPAN, 1);
  fold->largest = (UBITS)(((UBITS)(highest + 1) << MANTISSA_SHIFT) - 1);
  fold->smallest = lowest == 1 && SUBNORMALS_CONVERT ? 1 : (UBITS)((UBITS)lowest << MANTISSA_SHIFT);
  fold->unit = (u32)(lowest - 1 + FIRST_UNIT);
  const i32 exponent = (i32)fold->unit + SUM_EXPONENT_Float;
  fold->sum_start = NAME(start)(exponent);
  fold->high_start = NAME(start)(2 * exponent + SPLIT);
  fold->low_start = NAME(start)(2 * exponent);
  NAME(clear)(fold);
}

INLINE void NAME(flush)(NAME(fold) * fold, WORDS i64* partial, const int needs) {
  if (fold->steps == 0) return;
  v_i64 sum = SPLAT(i64, 0), high = SPLAT(i64, 0), low = SPLAT(i64, 0);
  for (int s = 0; s < SETS; ++s) {
    sum += AS(i64, fold->sum[s]) - AS_I64(fold->sum_start);
    high += AS(i64, fold->high[s]) - AS_I64(fold->high_start);
    low += AS(i64, fold->low[s]) - AS_I64(fold->low_start);
  }
  if (needs & NEED_SUM) deposit(partial + PARTIAL_SUM, ADD_LANES(i64, sum), fold->unit);
  if (needs & NEED_SQUARES) {
    deposit(partial + SQUARES, ADD_LANES(i64, high), 2 * fold->unit + SPLIT);
    deposit(partial + SQUARES, ADD_LANES(i64, low), 2 * fold->unit);
  }
  if (needs & NEED_SIGNS) {
    ADD(partial[PARTIAL_ZEROS], ADD_LANES(UBITS, fold->zeros));
    ADD(partial[PARTIAL_NEGATIVES], ADD_LANES(UBITS, fold->negatives));
  }
  NAME(clear)(fold);
}

INLINE void NAME(open)(NAME(fold) * fold, const int needs) {
  fold->top = SPLAT(SBITS, (SBITS)~MAGNITUDE_MASK);
  fold->bottom = SPLAT(SBITS, (SBITS)MAGNITUDE_MASK);
  // float16 fits one window whole; data of unit size fits this one of the others.
  NAME(place)(fold, SPAN >= MAX_EXPONENT - 2 ? MAX_EXPONENT - 1 : MAX_EXPONENT / 2 + 3);
  if ((needs & (NEED_SUM | NEED_SQUARES)) == 0) {  // only NaN and Inf are kept out
    fold->smallest = 1;
    fold->largest = (UBITS)(INF_BITS - 1);
  }
}

INLINE void NAME(close)(NAME(fold) * fold, WORDS i64* partial, const int needs) {
  NAME(flush)(fold, partial, needs);
  if (needs & NEED_EXTREMA) {
    const SBITS top = MAX_LANE(SBITS, fold->top), bottom = MIN_LANE(SBITS, fold->bottom);
    if (top >= bottom) raise_extrema(partial, top, bottom);
  }
}

// A group that the window does not hold, with the keys of its extrema and its smallest non-zero
// magnitude: moves the window where that helps, and says whether it holds the group now. Otherwise the
// group has been lifted.
NOINLINE int NAME(settle)(NAME(fold) * fold, WORDS i64* partial, SPACE const u8* p, SBITS top,
                          SBITS bottom, UBITS least, const int needs) {
  const i32 largest = MAX(MAX((i32)top, ~(i32)bottom), 0);
  const i32 highest = MIN((largest >> MANTISSA_SHIFT) + 1, MAX_EXPONENT - 1);  // a binade to spare
  const i32 lowest = MAX(highest - SPAN, 1);
  const int finite = largest < INF_BITS;
  const int fits = finite && ((i32)(least >> MANTISSA_SHIFT) >= lowest ||
                              (SUBNORMALS_CONVERT && lowest == 1));
  if (fits || (finite && largest > (i32)fold->largest)) {
    NAME(flush)(fold, partial, needs);
    NAME(place)(fold, highest);
  }
  if (fits) return 1;
  for (int i = 0; i < GROUP; ++i) NAME(lift)(partial, p + i * (int)sizeof(UBITS));
  return 0;
}

// The GROUP elements at p.
INLINE void NAME(fold_group)(NAME(fold) * fold, WORDS i64* partial, SPACE const u8* p,
                             const int needs) {
  VECTOR_OF(SBITS) top = SPLAT(SBITS, (SBITS)~MAGNITUDE_MASK);
  VECTOR_OF(SBITS) bottom = SPLAT(SBITS, (SBITS)MAGNITUDE_MASK);
  VECTOR_OF(UBITS) least = SPLAT(UBITS, (UBITS)-1);  // smallest magnitude less one, zeros left out
  VECTOR_OF(UBITS) zeros = SPLAT(UBITS, 0), negatives = SPLAT(UBITS, 0);
  for (int i = 0; i < GROUP; i += LANES(UBITS)) {
    const VECTOR_OF(UBITS) bits = LOAD(UBITS, p + i * (int)sizeof(UBITS));
    const VECTOR_OF(UBITS) magnitude = bits & MAGNITUDE_MASK;
    const VECTOR_OF(SBITS) key = KEY(SBITS, bits);
    top = MAX(top, key);
    bottom = MIN(bottom, key);
    least = MIN(least, (VECTOR_OF(UBITS))(magnitude - (UBITS)1));
    if (needs & NEED_SIGNS) {
      COUNT_INTO(UBITS, zeros, magnitude == (UBITS)0);
      COUNT_INTO(UBITS, negatives, key < (SBITS)-1);
    }
  }
  if (UNLIKELY(ANY(SBITS, (top > (SBITS)fold->largest) | (bottom < (SBITS)~fold->largest) |
                              (least < (UBITS)(fold->smallest - 1))))) {
    if (!NAME(settle)(fold, partial, p, MAX_LANE(SBITS, top), MIN_LANE(SBITS, bottom),
                      (UBITS)(MIN_LANE(UBITS, least) + 1), needs))
      return;
  }
  fold->top = MAX(fold->top, top);
  fold->bottom = MIN(fold->bottom, bottom);
  fold->zeros += zeros;
  fold->negatives += negatives;
  for (int i = 0; i < GROUP; i += LANES(f64) * SETS) {
    for (int s = 0; s < SETS; ++s) {
      const v_f64 d = NAME(load_f64)(p + (i + s * LANES(f64)) * (int)sizeof(UBITS));
      if (needs & NEED_SUM) fold->sum[s] += d;
      if (needs & NEED_SQUARES) {
        const v_f64 raised = MUL_ADD(d, d, fold->high[s]);
        const v_f64 taken = raised - fold->high[s];
        fold->high[s] = raised;
        fold->low[s] += MUL_ADD(d, d, -taken);
      }
    }
  }
  fold->steps += GROUP / (LANES(f64) * SETS);
  if (fold->steps == 1 << LOG2_STEPS) NAME(flush)(fold, partial, needs);
}
