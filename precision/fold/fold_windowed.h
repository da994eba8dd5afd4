// The fold of float16, bfloat16 and float32: exact sums at the speed of memory. One text for C++ and OpenCL C, included
// once for each dtype. host/simd/vectors.h and kernels-cl/cl/vectors.cl define the vectors.
//
// Each value becomes a binary64 d. A lane keeps the linear sums of d that are requested (sums.h), and the sum of d*d in
// two parts. An accumulator starts at 1.5 * 2^52 units. Its bits less the bits of the start are its integer sum. A
// window is a range of exponents. If all elements lie in the window, no operation rounds, with one exception: the
// addition that splits d*d at the coarser unit of `high`. Its error is exact, and `low` sums the errors. So neither
// contraction to fma nor the caller's rounding mode can change a bit. The splitting is from Rump, Ogita and Oishi,
// "Accurate floating-point summation". The proof is in precision/README.md.
//
// The squares of the half types are so short that a narrower window needs no splitting. Most groups of most tensors fit
// the narrow window, which takes half the operations.
//
// If a group does not fit the window, the window moves. NaN and Inf are counted and left out. If the finite elements of
// one group span too many binades, the group gets its own window. That one may be wider, because it is for few
// additions. If it is still too narrow, the group goes into bins (fold_bins.h).

#include "precision/fold/fold_bins.h"
#include "precision/fold/fold_extremes.h"
#include "precision/fold/fold_terms.h"

// A lane adds 2^LOG2_STEPS elements between two flushes. SPAN is the number of binades between the smallest and the
// largest exponent of a window. The lane's integers stay within 2^51 if 2^LOG2_STEPS * 2^(SPAN + MANTISSA_BITS) does.
// The same bound for the low part of the squares gives SPLIT, the coarser unit.
#define LOG2_STEPS 9
#define SPAN_OF(log2_steps) (51 - MANTISSA_BITS - (log2_steps))
#define SPLIT_OF(log2_steps) ((log2_steps) + 2 * (SPAN_OF(log2_steps) + MANTISSA_BITS) - 51)
#define SPAN SPAN_OF(LOG2_STEPS)
// A lane's share of a group that has its own window.
#define LOG2_ALONE (LANES(f64) == 8 ? 3 : LANES(f64) == 4 ? 4 : 5)

// In the narrow window a lane adds its 2^LOG2_IN_GROUP elements of a group. Then the integers go to 64-bit lanes.
// 2^LOG2_IN_GROUP * 2^(2 * (NARROW_SPAN + MANTISSA_BITS)) is at most 2^51.
#define HAS_NARROW (sizeof(UBITS) == 2)
#define LOG2_IN_GROUP (LANES(f64) == 8 ? 3 : LANES(f64) == 4 ? 4 : 5)
#define NARROW_SPAN ((51 - LOG2_IN_GROUP) / 2 - MANTISSA_BITS)
#define NARROW_GROUPS 256  // 2^8 groups of 2^7 squares below 2^48: the sum over all lanes stays in 63 bits
// If WIDE_RUN groups in a row do not fit the narrow window, the next WIDE_GROUPS are not tried: a trial costs as much
// again.
#define WIDE_RUN 4
#define WIDE_GROUPS 12

typedef struct {
  UBITS smallest, largest;  // as bits without the sign; zeros are always inside
  VECTOR_OF(UBITS) smallest_lanes;
  VECTOR_OF(SBITS) largest_lanes;
  u32 unit;  // the window's unit is 2^unit units of the partial
} FoldWindow;

// The sums in a wide window.
typedef struct {
  v_f64 linear[LINEAR_SUMS][SETS], high[SETS], low[SETS];
  f64 linear_start, high_start, low_start;
  u32 unit;   // of the window
  u32 split;  // the coarser unit of squares is 2^split of the finer one
} Sums;

typedef struct {
  Sums sums;
  FoldWindow wide;
  u32 steps;  // since the last flush
  v_i64 narrow_linear[LINEAR_SUMS], narrow_square;
  f64 narrow_linear_start, narrow_square_start;
  FoldWindow narrow;
  u32 narrow_groups;
  u32 wide_run, wide_left;  // groups in a row that went into the wide window; groups that still go there untried
  int had_specials;         // the last group had NaN or Inf, so the next one is likely to have them
  Seen seen;
  Bins bins;
} Fold;

// 1.5 * 2^(52 + exponent)
INLINE f64 start(i32 exponent) { return AS_F64(((u64)(1023 + 52 + exponent) << 52) | ((u64)1 << 51)); }

INLINE void clear(Sums* sums) {
  UNROLL
  for (int s = 0; s < SETS; ++s) {
    FOR_EACH_LINEAR(sums->linear[sum][s] = SPLAT(f64, sums->linear_start);)
    sums->high[s] = SPLAT(f64, sums->high_start);
    sums->low[s] = SPLAT(f64, sums->low_start);
  }
}

INLINE void set_window(FoldWindow* window, UBITS smallest, UBITS largest) {
  window->smallest = smallest;
  window->largest = largest;
  window->smallest_lanes = SPLAT(UBITS, smallest);
  window->largest_lanes = SPLAT(SBITS, (SBITS)largest);
}

// Makes a window with the upper end at the stored exponent `highest`. Returns its lowest exponent.
INLINE i32 place_window(FoldWindow* window, i32 highest, i32 span, int subnormals) {
  highest = MIN(highest, MAX_EXPONENT - 1);
  const i32 lowest = MAX(highest - span, 1);
  set_window(window, lowest == 1 && subnormals ? (UBITS)1 : (UBITS)((UBITS)lowest << MANTISSA_SHIFT),
             (UBITS)(((UBITS)(highest + 1) << MANTISSA_SHIFT) - 1));
  window->unit = (u32)(lowest - 1 + FIRST_UNIT);
  return lowest;
}

// Opens empty sums for 2^log2_steps elements a lane, with the upper end of the window at the stored exponent `highest`.
INLINE void open_sums(Sums* sums, FoldWindow* window, i32 highest, i32 log2_steps) {
  place_window(window, highest, SPAN_OF(log2_steps), SUBNORMALS_CONVERT);
  const i32 exponent = (i32)window->unit + SUM_EXPONENT_Float;
  sums->unit = window->unit;
  sums->split = (u32)SPLIT_OF(log2_steps);
  sums->linear_start = start(exponent);
  sums->high_start = start(2 * exponent + SPLIT_OF(log2_steps));
  sums->low_start = start(2 * exponent);
  clear(sums);
}

INLINE void move_window(Fold* fold, i32 highest) {
  open_sums(&fold->sums, &fold->wide, highest, LOG2_STEPS);
  fold->steps = 0;
}

INLINE void clear_narrow(Fold* fold) {
  FOR_EACH_LINEAR(fold->narrow_linear[sum] = SPLAT(i64, 0);)
  fold->narrow_square = SPLAT(i64, 0);
  fold->narrow_groups = 0;
}

INLINE void place_narrow(Fold* fold, i32 highest) {
  const i32 lowest = place_window(&fold->narrow, highest, NARROW_SPAN, 0);
  const i32 exponent = lowest - MAX_EXPONENT / 2 - MANTISSA_SHIFT;
  fold->narrow_linear_start = start(exponent);
  fold->narrow_square_start = start(2 * exponent);
  clear_narrow(fold);
}

INLINE void hand_over(const Sums* sums, WORDS i64* partial, const int needs) {
  v_i64 linear[LINEAR_SUMS], high = SPLAT(i64, 0), low = SPLAT(i64, 0);
  FOR_EACH_LINEAR(linear[sum] = SPLAT(i64, 0);)
  UNROLL
  for (int s = 0; s < SETS; ++s) {
    FOR_EACH_LINEAR(linear[sum] += AS(i64, sums->linear[sum][s]) - AS_I64(sums->linear_start);)
    high += AS(i64, sums->high[s]) - AS_I64(sums->high_start);
    low += AS(i64, sums->low[s]) - AS_I64(sums->low_start);
  }
  FOR_EACH_LINEAR(if (needs & linear_need(sum)) {
    deposit(partial + LINEAR_OFFSET(sum), ADD_LANES(i64, linear[sum]), sums->unit);
  })
  if (needs & NEED_SQUARES) {
    deposit(partial + OFFSET(SQUARES), ADD_LANES(i64, high), 2 * sums->unit + sums->split);
    deposit(partial + OFFSET(SQUARES), ADD_LANES(i64, low), 2 * sums->unit);
  }
}

INLINE void flush(Fold* fold, WORDS i64* partial, const int needs) {
  if (fold->steps == 0) return;
  hand_over(&fold->sums, partial, needs);
  clear(&fold->sums);
  fold->steps = 0;
}

INLINE void flush_narrow(Fold* fold, WORDS i64* partial, const int needs) {
  if (fold->narrow_groups == 0) return;
  FOR_EACH_LINEAR(if (needs & linear_need(sum)) {
    deposit(partial + LINEAR_OFFSET(sum), ADD_LANES(i64, fold->narrow_linear[sum]), fold->narrow.unit);
  })
  if (needs & NEED_SQUARES) {
    deposit(partial + OFFSET(SQUARES), ADD_LANES(i64, fold->narrow_square), 2 * fold->narrow.unit);
  }
  clear_narrow(fold);
}

INLINE void open(Fold* fold, const int needs) {
  see_nothing(&fold->seen);
  // One window holds all of float16. For the other dtypes these windows hold data of unit size.
  move_window(fold, SPAN >= MAX_EXPONENT - 2 ? MAX_EXPONENT - 1 : MAX_EXPONENT / 2 + 3);
  place_narrow(fold, MAX_EXPONENT / 2 + 3);
  fold->wide_run = fold->wide_left = 0;
  fold->had_specials = 0;
  if ((needs & NEED_EXACT) == 0) {  // only NaN and Inf leave the window
    set_window(&fold->narrow, 1, (UBITS)(INF_BITS - 1));
    set_window(&fold->wide, 1, (UBITS)(INF_BITS - 1));
  }
  fold->bins.elements = 0;
}

INLINE void close(Fold* fold, WORDS i64* partial, const int needs) {
  flush(fold, partial, needs);
  flush_narrow(fold, partial, needs);
  close_seen(&fold->seen, partial, needs);
  flush_bins(&fold->bins, partial, needs);
}

// What the fold has seen so far, for fold_indices.h: returns SEEN_NAN and SEEN_INF, and sets the keys of the extrema.
// If there is no number, the highest lies below the lowest.
INLINE int so_far(const Fold* fold, const WORDS i64* partial, SPACE const u8* p, const u32 count, i64* highest,
                  i64* lowest) {
  (void)p;
  (void)count;
  const Seen* seen = &fold->seen;
  const int positive = partial[PARTIAL_POSITIVE_INFS] != 0 || ANY(SBITS, seen->positive_infs != (UBITS)0);
  const int negative = partial[PARTIAL_NEGATIVE_INFS] != 0 || ANY(SBITS, seen->negative_infs != (UBITS)0);
  finite_extrema(seen, highest, lowest);
  widen_to_infinities(INF_BITS, positive, negative, highest, lowest);
  const int has_nan = partial[PARTIAL_NANS] != 0 || ANY(SBITS, seen->nans != (UBITS)0);
  return (has_nan ? SEEN_NAN : 0) | (positive || negative ? SEEN_INF : 0);
}

// `all`: every element is finite. Otherwise NaN and Inf are left out.
INLINE void add_narrow(Fold* fold, WORDS i64* partial, SPACE const u8* p, const int needs, const int all) {
  const v_f64 linear_start = SPLAT(f64, fold->narrow_linear_start);
  const v_f64 square_start = SPLAT(f64, fold->narrow_square_start);
  v_f64 linear[LINEAR_SUMS][SETS], square[SETS];
  UNROLL
  for (int s = 0; s < SETS; ++s) {
    FOR_EACH_LINEAR(linear[sum][s] = linear_start;)
    square[s] = square_start;
  }
  const v_f64 one = ONE;
  UNROLL
  for (int i = 0; i < GROUP; i += 2 * LANES(f32)) {
    UNROLL
    for (int k = 0; k < 2 * LANES(f32) / LANES(f64); ++k) {
      v_f64 d = LOAD_NARROW(p + i * (int)sizeof(UBITS), k);
      if (!all) d = ONLY_FINITE(d);
      FOR_EACH_LINEAR(if (needs & linear_need(sum)) {
        linear[sum][k % SETS] = ADD_F64(linear_term(d, sum), one, linear[sum][k % SETS]);
      })
      if (needs & NEED_SQUARES) square[k % SETS] = MUL_ADD(d, d, square[k % SETS]);
    }
  }
  UNROLL
  for (int s = 0; s < SETS; ++s) {
    FOR_EACH_LINEAR(if (needs & linear_need(sum)) {
      fold->narrow_linear[sum] += AS(i64, linear[sum][s]) - AS(i64, linear_start);
    })
    fold->narrow_square += AS(i64, square[s]) - AS(i64, square_start);
  }
  if (++fold->narrow_groups == NARROW_GROUPS) flush_narrow(fold, partial, needs);
}

INLINE void add_to(Sums* sums, SPACE const u8* p, const int needs, const int all) {
  const v_f64 one = ONE;
  v_f64 linear[LINEAR_SUMS][SETS], high[SETS], low[SETS];  // the compiler may keep these in registers
  UNROLL
  for (int s = 0; s < SETS; ++s) {
    FOR_EACH_LINEAR(linear[sum][s] = sums->linear[sum][s];)
    high[s] = sums->high[s];
    low[s] = sums->low[s];
  }
  UNROLL
  for (int i = 0; i < GROUP; i += LANES(f64) * SETS) {
    UNROLL
    for (int s = 0; s < SETS; ++s) {
      v_f64 d = NAME(load_f64)(p + (i + s * LANES(f64)) * (int)sizeof(UBITS));
      if (!all) d = ONLY_FINITE(d);
      FOR_EACH_LINEAR(if (needs & linear_need(sum)) {
        linear[sum][s] = ADD_F64(linear_term(d, sum), one, linear[sum][s]);
      })
      if (needs & NEED_SQUARES) {
        const v_f64 raised = MUL_ADD(d, d, high[s]);
        const v_f64 taken = raised - high[s];
        high[s] = raised;
        low[s] += MUL_ADD(d, d, -taken);
      }
    }
  }
  UNROLL
  for (int s = 0; s < SETS; ++s) {
    FOR_EACH_LINEAR(if (needs & linear_need(sum)) sums->linear[sum][s] = linear[sum][s];)
    sums->high[s] = high[s];
    sums->low[s] = low[s];
  }
}

INLINE void add_wide(Fold* fold, WORDS i64* partial, SPACE const u8* p, const int needs, const int all) {
  add_to(&fold->sums, p, needs, all);
  fold->steps += GROUP / (LANES(f64) * SETS);
  if (fold->steps == 1 << LOG2_STEPS) flush(fold, partial, needs);
}

// Adds a group in its own window, with the upper end at `highest`. The window holds all finite elements.
INLINE void add_alone(WORDS i64* partial, SPACE const u8* p, i32 highest, const int needs) {
  Sums sums;
  FoldWindow window;
  open_sums(&sums, &window, highest, LOG2_ALONE);
  add_to(&sums, p, needs, 0);
  hand_over(&sums, partial, needs);
}

// Which window adds a group's sums. DONE: they are added.
enum { NARROW, WIDE, DONE };

// Takes a group that does not fit the window that was tried. Moves a window if that helps. Returns DONE if it added the
// group. A group with NaN or Inf is seen and added here.
NOINLINE int settle(Fold* fold, WORDS i64* partial, SPACE const u8* p, UBITS largest, UBITS smallest, const int needs) {
  const int finite = largest < (UBITS)INF_BITS;
  if (!finite) fold->had_specials = see_finite(&fold->seen, partial, p, &largest, &smallest, needs);
  if ((needs & NEED_EXACT) == 0 || largest == 0) return DONE;
  const i32 highest = MIN((i32)(largest >> MANTISSA_SHIFT) + 1, MAX_EXPONENT - 1);  // with a spare binade
  const i32 exponent = (i32)(smallest >> MANTISSA_SHIFT);
  if (HAS_NARROW && (largest > fold->narrow.largest || smallest < fold->narrow.smallest) &&
      exponent >= MAX(highest - NARROW_SPAN, 1)) {
    flush_narrow(fold, partial, needs);
    place_narrow(fold, highest);
  }
  if (HAS_NARROW && largest <= fold->narrow.largest && smallest >= fold->narrow.smallest) {
    if (finite) return NARROW;
    add_narrow(fold, partial, p, needs, 0);
    return DONE;
  }
  if (largest > fold->wide.largest || smallest < fold->wide.smallest) {
    const i32 lowest = MAX(highest - SPAN, 1);
    if (exponent < lowest && !(SUBNORMALS_CONVERT && lowest == 1)) {
      const i32 top = (i32)(largest >> MANTISSA_SHIFT), bottom = MAX(top - SPAN_OF(LOG2_ALONE), 1);
      if (exponent >= bottom || (SUBNORMALS_CONVERT && bottom == 1)) {
        add_alone(partial, p, top, needs);
        return DONE;
      }
      bin_group(&fold->bins, partial, p, needs);
      return DONE;
    }
    flush(fold, partial, needs);
    move_window(fold, highest);
  }
  if (finite) return WIDE;
  add_wide(fold, partial, p, needs, 0);
  return DONE;
}

// Folds the GROUP elements at p.
INLINE void fold_group(Fold* fold, WORDS i64* partial, SPACE const u8* p, const int needs) {
  if (UNLIKELY(fold->had_specials)) {
    settle(fold, partial, p, (UBITS)INF_BITS, 0, needs);
    return;
  }
  const int tries_narrow = HAS_NARROW && fold->wide_left == 0;
  const FoldWindow* window = tries_narrow ? &fold->narrow : &fold->wide;
  Seen seen;
  see(&seen, p, needs);
  const VECTOR_OF(SBITS) largest = largest_seen(&seen);
  int path = tries_narrow ? NARROW : WIDE;
  if (UNLIKELY(
          ANY(SBITS, ABOVE(SBITS, largest, window->largest_lanes) | BELOW(UBITS, seen.near, window->smallest_lanes)))) {
    VECTOR_OF(UBITS) least = seen.near - (UBITS)1;
    if (ANY(SBITS, seen.near == (UBITS)0)) least = see_zeros(&seen, p, needs);
    if (ANY(SBITS,
            ABOVE(SBITS, largest, window->largest_lanes) | BELOW(UBITS, least, window->smallest_lanes - (UBITS)1))) {
      const UBITS most = (UBITS)MAX_LANE(SBITS, largest);
      path = settle(fold, partial, p, most, (UBITS)(MIN_LANE(UBITS, least) + 1), needs);
      if (most >= (UBITS)INF_BITS) return;
    }
  }
  add_seen(&fold->seen, &seen, partial, needs);
  if ((needs & NEED_EXACT) == 0 || path == DONE) return;
  if (HAS_NARROW && path == NARROW) {
    fold->wide_run = 0;
    add_narrow(fold, partial, p, needs, 1);
  } else {
    if (!tries_narrow) {
      fold->wide_left -= HAS_NARROW;
    } else if (++fold->wide_run >= WIDE_RUN) {
      fold->wide_left = WIDE_GROUPS;
    }
    add_wide(fold, partial, p, needs, 1);
  }
}
