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
// The squares of the half types are so short that a narrower window needs no splitting. Most blocks of most tensors fit
// the narrow window, which takes half the operations.
//
// Elements are taken in blocks. A block is looked at and then added, in two loops that stay rolled: unrolled, GCC spills
// a quarter of the instructions. If a block does not fit the window, the window moves. NaN and Inf are counted and left
// out. If the finite elements of one block span too many binades, float32 adds the smaller ones in a second window below. A
// block that spans even more is taken in groups. A group may get its own window, which is wider because it is for few
// additions. If that is still too narrow, the group goes into bins (fold_bins.h).

#include "precision/fold/fold_bins.h"
#include "precision/fold/fold_extremes.h"
#include "precision/fold/fold_terms.h"

#define BLOCK 1024
// A lane adds 2^LOG2_STEPS elements of a block. SPAN is the number of binades between the smallest and the largest
// exponent of a window. The lane's integers stay within 2^51 if 2^LOG2_STEPS * 2^(SPAN + MANTISSA_BITS) does. The same
// bound for the low part of the squares gives SPLIT, the coarser unit.
#define LOG2_STEPS (LANES(f64) == 8 ? 7 : LANES(f64) == 4 ? 8 : 9)
#define SPAN_OF(log2_steps) (51 - MANTISSA_BITS - (log2_steps))
#define SPLIT_OF(log2_steps) (51 - (log2_steps))
#define SPAN SPAN_OF(LOG2_STEPS)
#define LOG2_ALONE (LOG2_STEPS - 3)  // for a group that has its own window
#define WIDE_ELEMENTS (64 * BLOCK)   // between two flushes: the sum over all lanes stays in 63 bits

// In the narrow window a lane adds four squares to 2^52 units. They stay below 2^52, so the sum stays in its binade. Then
// its bits go to a 64-bit lane. NARROW_ELEMENTS are 2^11 such sums.
#define HAS_NARROW (sizeof(UBITS) == 2)
#define NARROW_SPAN (25 - MANTISSA_BITS)
#define NARROW_ELEMENTS (8 * BLOCK)
// float32 adds in a second window what lies below the wide one, unless a vector has two lanes: then bins are faster.
#define HAS_LOWER (sizeof(UBITS) == 4 && LANES(f64) >= 4)
#define STEP (4 * LANES(f64))  // add() takes so many elements at a time
// If WIDE_RUN times in a row the narrow window does not fit, it is not tried the next WIDE_SKIP times. If BLOCK_RUN
// blocks in a row are taken in groups, so are the next BLOCK_SKIP. A trial in vain costs as much again.
#define WIDE_RUN 4
#define WIDE_SKIP 12
#define BLOCK_RUN 2
#define BLOCK_SKIP 14

typedef struct {
  UBITS smallest, largest;  // as bits without the sign; zeros are always inside
  VECTOR_OF(UBITS) smallest_lanes;
  VECTOR_OF(SBITS) largest_lanes;
  u32 unit;   // the window's unit is 2^unit units of the partial
  u32 split;  // the coarser unit of squares is 2^split of the finer one; 0 in the narrow window, which needs no `high`
  f64 linear_start, high_start, low_start;
  v_i64 linear[LINEAR_SUMS], high, low;  // the integers of the elements since the last flush
  u32 elements;
} FoldWindow;

typedef struct {
  f32 widened[BLOCK];  // a block of a half type, in any order; a block of float32, with 0 for elements in `below`
  FoldWindow wide, narrow;
  u32 wide_run, wide_left;     // how often in a row the wide window was taken; how often it still is, untried
  u32 block_run, groups_left;  // blocks in a row that were taken in groups; groups until a block is tried
  int has_lower;               // `lower` is placed
  int had_specials;            // the last elements had NaN or Inf, so the next ones are likely to have them
  Seen seen;
  Bins bins;
  FoldWindow lower;
  f32 below[HAS_LOWER ? BLOCK : 1];  // the steps with elements for the lower window, and 0 instead of the others
} Fold;

// 1.5 * 2^(52 + exponent)
INLINE f64 start(i32 exponent) { return AS_F64(((u64)(1023 + 52 + exponent) << 52) | ((u64)1 << 51)); }

INLINE void clear(FoldWindow* window) {
  FOR_EACH_LINEAR(window->linear[sum] = SPLAT(i64, 0);)
  window->high = window->low = SPLAT(i64, 0);
  window->elements = 0;
}

INLINE void set_window(FoldWindow* window, UBITS smallest, UBITS largest) {
  window->smallest = smallest;
  window->largest = largest;
  window->smallest_lanes = SPLAT(UBITS, smallest);
  window->largest_lanes = SPLAT(SBITS, (SBITS)largest);
}

// Empties a window, and places its upper end at the stored exponent `highest`.
INLINE void place_window(FoldWindow* window, i32 highest, const i32 span, const i32 split) {
  highest = MIN(highest, MAX_EXPONENT - 1);
  const i32 lowest = MAX(highest - span, 1);
  set_window(window, lowest == 1 && SUBNORMALS_CONVERT ? (UBITS)1 : (UBITS)((UBITS)lowest << MANTISSA_SHIFT),
             (UBITS)(((UBITS)(highest + 1) << MANTISSA_SHIFT) - 1));
  window->unit = (u32)(lowest - 1 + FIRST_UNIT);
  window->split = (u32)split;
  const i32 exponent = (i32)window->unit + SUM_EXPONENT_Float;
  window->linear_start = start(exponent);
  window->high_start = start(2 * exponent + split);
  window->low_start = split == 0 ? AS_F64((u64)(1023 + 52 + 2 * exponent) << 52) : start(2 * exponent);
  clear(window);
}
INLINE void place_wide(Fold* fold, i32 highest) { place_window(&fold->wide, highest, SPAN, SPLIT_OF(LOG2_STEPS)); }
INLINE void place_narrow(Fold* fold, i32 highest) { place_window(&fold->narrow, highest, NARROW_SPAN, 0); }

// Whether a window with its upper end at `highest` would hold the stored exponent `smallest`.
INLINE int would_hold(i32 smallest, i32 highest, const i32 span) {
  return smallest >= MAX(highest - span, 1) || (SUBNORMALS_CONVERT && highest - span <= 1);
}
INLINE int holds(const FoldWindow* window, UBITS smallest, UBITS largest) {
  return smallest >= window->smallest && largest <= window->largest;
}

INLINE void flush(FoldWindow* window, WORDS i64* partial, const int needs) {
  if (window->elements == 0) return;
  FOR_EACH_LINEAR(if (needs & linear_need(sum)) {
    deposit(partial + LINEAR_OFFSET(sum), ADD_LANES(i64, window->linear[sum]), window->unit);
  })
  if (needs & NEED_SQUARES) {
    deposit(partial + OFFSET(SQUARES), ADD_LANES(i64, window->high), 2 * window->unit + window->split);
    deposit(partial + OFFSET(SQUARES), ADD_LANES(i64, window->low), 2 * window->unit);
  }
  clear(window);
}

INLINE void open(Fold* fold, const int needs) {
  see_nothing(&fold->seen);
  // One window holds all of float16. For the other dtypes these windows hold data of unit size.
  place_wide(fold, SPAN >= MAX_EXPONENT - 2 ? MAX_EXPONENT - 1 : MAX_EXPONENT / 2 + 3);
  place_narrow(fold, MAX_EXPONENT / 2 + 3);
  fold->wide_run = fold->wide_left = fold->block_run = fold->groups_left = 0;
  fold->had_specials = 0;
  if ((needs & NEED_EXACT) == 0) {  // only NaN and Inf leave the window
    set_window(&fold->narrow, 1, (UBITS)(INF_BITS - 1));
    set_window(&fold->wide, 1, (UBITS)(INF_BITS - 1));
  }
  fold->bins.elements = 0;
  fold->has_lower = 0;
}

NOINLINE void flush_lower(Fold* fold, WORDS i64* partial, const int needs) { flush(&fold->lower, partial, needs); }

INLINE void close(Fold* fold, WORDS i64* partial, const int needs) {
  flush(&fold->wide, partial, needs);
  if (HAS_NARROW) flush(&fold->narrow, partial, needs);
  if (HAS_LOWER && UNLIKELY(fold->has_lower)) flush_lower(fold, partial, needs);
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

// Adds `count` elements, a group or a block, to the sums of a window that holds them. `all`: every element is finite, and
// a block is widened already. Otherwise NaN and Inf are left out. `splits`: the window is wide. `is_copied`: float32's elements
// are in `widened`.
INLINE void add(FoldWindow* window, WORDS i64* partial, SPACE const u8* p, f32* widened, const u32 count, const int needs,
                const int splits, const int all, const int is_copied) {
  if (window->elements > (splits ? WIDE_ELEMENTS : NARROW_ELEMENTS) - count) flush(window, partial, needs);
  window->elements += count;
  if (HAS_NARROW && !(all && count == BLOCK)) {
    ROLLED
    for (u32 i = 0; i < count; i += LANES(UBITS)) WIDEN(widened + i, p + i * sizeof(UBITS));
  }
  const v_f64 one = ONE, low_start = SPLAT(f64, window->low_start);
  v_f64 linear[LINEAR_SUMS], high[SETS], low = low_start;
  v_u64 fours = SPLAT(u64, 0);
  FOR_EACH_LINEAR(linear[sum] = SPLAT(f64, window->linear_start);)
  UNROLL
  for (int k = 0; k < SETS; ++k) high[k] = SPLAT(f64, window->high_start);
  ROLLED
  for (u32 i = 0; i < count; i += STEP) {
    v_f64 d[4], error[4], four = low_start;
    UNROLL
    for (int k = 0; k < 4; ++k) {
      const u32 index = i + (u32)(k * LANES(f64));
      d[k] = HAS_NARROW || is_copied ? LOAD_WIDENED(widened + index) : NAME(load_f64)(p + index * sizeof(UBITS));
      if (!all) d[k] = ONLY_FINITE(d[k]);
      if ((needs & NEED_SQUARES) && splits) {
        const v_f64 raised = MUL_ADD(d[k], d[k], high[k % SETS]);
        const v_f64 taken = raised - high[k % SETS];
        high[k % SETS] = raised;
        error[k] = MUL_ADD(d[k], d[k], -taken);
      } else if (needs & NEED_SQUARES) {
        four = MUL_ADD(d[k], d[k], four);
      }
    }
    FOR_EACH_LINEAR(if (needs & linear_need(sum)) {  // four elements are two bits longer than one: nothing rounds
      const v_f64 first = ADD_F64(linear_term(d[0], sum), one, linear_term(d[1], sum));
      const v_f64 second = ADD_F64(linear_term(d[2], sum), one, linear_term(d[3], sum));
      linear[sum] += ADD_F64(first, one, second);
    })
    if ((needs & NEED_SQUARES) && splits) {
      low += (error[0] + error[1]) + (error[2] + error[3]);
    } else {
      fours += AS(u64, four);
    }
  }
  FOR_EACH_LINEAR(window->linear[sum] += AS(i64, linear[sum]) - AS_I64(window->linear_start);)
  if (splits) {
    UNROLL
    for (int k = 0; k < SETS; ++k) window->high += AS(i64, high[k]) - AS_I64(window->high_start);
    window->low += AS(i64, low) - AS(i64, low_start);
  } else {
    window->low += AS(i64, fours - AS(u64, low_start) * (u64)(count / STEP));
  }
}

// Adds a group in its own window, with the upper end at `highest`. The window holds all finite elements.
INLINE void add_alone(WORDS i64* partial, SPACE const u8* p, f32* widened, i32 highest, const int needs) {
  FoldWindow window;
  place_window(&window, highest, SPAN_OF(LOG2_ALONE), SPLIT_OF(LOG2_ALONE));
  add(&window, partial, p, widened, GROUP, needs, 1, 0, 0);
  flush(&window, partial, needs);
}

#if BITS == 32
// Adds finite elements in the wide window and the lower one. Moves the windows so that they hold the elements.
NOINLINE void add_in_two(Fold* fold, WORDS i64* partial, SPACE const u8* p, const u32 count, UBITS largest, UBITS smallest,
                         const int needs) {
  i32 lowest = (i32)(fold->wide.smallest >> MANTISSA_SHIFT);
  if (largest > fold->wide.largest || !would_hold((i32)(smallest >> MANTISSA_SHIFT), lowest - 1, SPAN)) {
    flush(&fold->wide, partial, needs);
    place_wide(fold, (i32)(largest >> MANTISSA_SHIFT) + 1);
    lowest = (i32)(fold->wide.smallest >> MANTISSA_SHIFT);
  }
  if (!fold->has_lower || !holds(&fold->lower, smallest, fold->wide.smallest - 1)) {
    if (fold->has_lower) flush(&fold->lower, partial, needs);
    fold->has_lower = 1;
    place_window(&fold->lower, lowest - 1, SPAN, SPLIT_OF(LOG2_STEPS));
  }
  const VECTOR_OF(UBITS) first = fold->wide.smallest_lanes;
  u32* const upper = (u32*)fold->widened;
  u32* const lower = (u32*)fold->below;
  u32 lower_count = 0;
  for (u32 i = 0; i < count; i += STEP) {
    VECTOR_OF(UBITS) least = SPLAT(UBITS, (UBITS)-1);
    UNROLL
    for (u32 k = i; k < i + STEP; k += LANES(UBITS)) {
      const VECTOR_OF(UBITS) bits = LOAD(UBITS, p + k * sizeof(UBITS));
      STORE(u32, upper + k, bits);
      least = MIN(least, (VECTOR_OF(UBITS))((bits & MAGNITUDE_MASK) - (UBITS)1));
    }
    if (!ANY(SBITS, BELOW(UBITS, least, first - (UBITS)1))) continue;
    for (u32 k = i; k < i + STEP; k += LANES(UBITS)) {
      const VECTOR_OF(UBITS) bits = LOAD(UBITS, p + k * sizeof(UBITS));
      const VECTOR_OF(UBITS) small_bits = bits & AS(UBITS, (bits & MAGNITUDE_MASK) < first);
      STORE(u32, upper + k, bits ^ small_bits);
      STORE(u32, lower + lower_count, small_bits);
      lower_count += LANES(UBITS);
    }
  }
  for (int is_lower = 0; is_lower < 2; ++is_lower) {
    add(is_lower ? &fold->lower : &fold->wide, partial, p, is_lower ? fold->below : fold->widened,
        is_lower ? lower_count : count, needs, 1, 1, 1);
  }
}
#endif

// Which window adds some elements. DONE: they are added. MISSED: no window holds the block.
enum { NARROW, WIDE, DONE, MISSED };

// Finds the window for `count` elements that do not fit the one that was tried. Moves a window if that helps. Elements
// with NaN or Inf among them are seen and added here.
NOINLINE int settle(Fold* fold, WORDS i64* partial, SPACE const u8* p, const u32 count, UBITS largest, UBITS smallest,
                    const int needs) {
  const int finite = largest < (UBITS)INF_BITS;
  if (!finite) fold->had_specials = see_finite(&fold->seen, partial, p, count, &largest, &smallest, needs);
  if ((needs & NEED_EXACT) == 0 || largest == 0) return DONE;
  const i32 top = (i32)(largest >> MANTISSA_SHIFT), bottom = (i32)(smallest >> MANTISSA_SHIFT);
  const i32 highest = MIN(top + 1, MAX_EXPONENT - 1);  // with a spare binade
  if (HAS_NARROW && !holds(&fold->narrow, smallest, largest) && would_hold(bottom, highest, NARROW_SPAN)) {
    flush(&fold->narrow, partial, needs);
    place_narrow(fold, highest);
  }
  if (HAS_NARROW && holds(&fold->narrow, smallest, largest)) {
    if (finite) return NARROW;
    add(&fold->narrow, partial, p, fold->widened, count, needs, 0, 0, 0);
    return DONE;
  }
  if (!holds(&fold->wide, smallest, largest)) {
    if (would_hold(bottom, highest, SPAN)) {
      flush(&fold->wide, partial, needs);
      place_wide(fold, highest);
    } else if (count == GROUP && would_hold(bottom, top, SPAN_OF(LOG2_ALONE))) {
      add_alone(partial, p, fold->widened, top, needs);
      return DONE;
#if BITS == 32
    } else if (HAS_LOWER && finite && would_hold(bottom, highest - SPAN - 1, SPAN)) {
      add_in_two(fold, partial, p, count, largest, smallest, needs);
      return DONE;
#endif
    } else if (finite && count == BLOCK) {
      return MISSED;
    } else {  // a block with NaN or Inf is seen already, so it does not go back
      for (u32 i = 0; i < count; i += GROUP) bin_group(&fold->bins, partial, p + i * sizeof(UBITS), needs);
      return DONE;
    }
  }
  if (finite) return WIDE;
  add(&fold->wide, partial, p, fold->widened, count, needs, 1, 0, 0);
  return DONE;
}

// Folds the `count` elements at p, a group or a block, and prefetches as many from `from` on. Returns 0 if it is a block
// that has to be taken in groups.
INLINE int take(Fold* fold, WORDS i64* partial, SPACE const u8* p, const u32 count, SPACE const u8* from,
                const int needs) {
  if (UNLIKELY(fold->had_specials)) {
    settle(fold, partial, p, count, (UBITS)INF_BITS, 0, needs);
    return 1;
  }
  const int tries_narrow = HAS_NARROW && fold->wide_left == 0;
  const FoldWindow* window = tries_narrow ? &fold->narrow : &fold->wide;
  Seen seen;
  if (HAS_NARROW && count == BLOCK && (needs & NEED_EXACT)) {
    see(&seen, p, BLOCK, from, fold->widened, needs);
  } else {
    see(&seen, p, count, from, 0, needs);
  }
  const VECTOR_OF(SBITS) largest = largest_seen(&seen);
  int path = tries_narrow ? NARROW : WIDE;
  if (UNLIKELY(
          ANY(SBITS, ABOVE(SBITS, largest, window->largest_lanes) | BELOW(UBITS, seen.near, window->smallest_lanes)))) {
    VECTOR_OF(UBITS) least = seen.near - (UBITS)1;
    if (ANY(SBITS, seen.near == (UBITS)0)) least = see_zeros(&seen, p, count, needs);
    if (ANY(SBITS,
            ABOVE(SBITS, largest, window->largest_lanes) | BELOW(UBITS, least, window->smallest_lanes - (UBITS)1))) {
      const UBITS most = (UBITS)MAX_LANE(SBITS, largest);
      path = settle(fold, partial, p, count, most, (UBITS)(MIN_LANE(UBITS, least) + 1), needs);
      if (path == MISSED || most >= (UBITS)INF_BITS) return path != MISSED;
    }
  }
  add_seen(&fold->seen, &seen, partial, count, needs);
  if ((needs & NEED_EXACT) == 0 || path == DONE) return 1;
  if (HAS_NARROW && path == NARROW) {
    fold->wide_run = 0;
    add(&fold->narrow, partial, p, fold->widened, count, needs, 0, 1, 0);
  } else {
    if (!tries_narrow) {
      fold->wide_left -= HAS_NARROW;
    } else if (++fold->wide_run >= WIDE_RUN) {
      fold->wide_left = WIDE_SKIP;
    }
    add(&fold->wide, partial, p, fold->widened, count, needs, 1, 1, 0);
  }
  return 1;
}

// Folds a group or a block of the `left` elements at p. Returns how many elements it took: 0 if a block needs groups.
INLINE u32 fold_some(Fold* fold, WORDS i64* partial, SPACE const u8* p, const u64 left, SPACE const u8* from,
                     const int needs) {
  const u32 count = left >= BLOCK && fold->groups_left == 0 ? BLOCK : GROUP;
  const int taken = take(fold, partial, p, count, from, needs);
  if (count == GROUP) {
    fold->groups_left -= fold->groups_left != 0;
  } else if (taken) {
    fold->block_run = 0;
  } else {
    fold->groups_left = (++fold->block_run >= BLOCK_RUN ? 1 + BLOCK_SKIP : 1) * (BLOCK / GROUP);
  }
  return taken ? count : 0;
}
