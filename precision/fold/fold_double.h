// The fold of float64: exact sums, as in fold_windowed.h, for mantissas of 53 bits. One text for C++ and OpenCL C. Read
// fold_windowed.h first.
//
// The elements of a window are scaled by a power of two to one fixed exponent, so that huge or tiny data does not
// overflow or underflow. An element is cut into three short parts. The additions that sum the high and the middle parts
// also cut them off. The products of parts are so short that they are added without splitting.
//
// Elements are taken in rounds. A round is summed as if the window held it, and its extrema are seen in the same loop.
// If the window did not hold it, the round's sums are dropped.
#include "precision/fold/fold_bins_double.h"
#include "precision/fold/fold_terms.h"

// An element is high * 2^(2 * PART) + middle * 2^PART + low units. The size of each part is at most 2^PART. A lane
// takes at most 2^5 elements in a round, and 2^5 * 2^(2 * PART) is 2^51.
#define PART 23
#define SPAN_DOUBLE (3 * PART - 53)
#define ROUND (LANES(f64) << 5 < GROUP ? LANES(f64) << 5 : GROUP)
// The unit of a window's elements after scaling, as a power of two.
#define SCALED_UNIT (-60)
// 2^9 rounds of 2^7 products of at most 2^46: the sum over all lanes stays in 63 bits.
#define ROUNDS_DOUBLE 512
// Moving a window costs as much as the bins of a few rounds.
#define STAY_DOUBLE 8

// The terms that are summed: the rests without the high parts, the high parts, and the products of parts. Then, for
// each linear sum but SUM, what it takes of the rests and of the high parts.
enum {
  REST, HIGH, LOW_LOW, MIDDLE_LOW, MIDDLE_MIDDLE, HIGH_LOW, HIGH_MIDDLE, HIGH_HIGH, OTHERS,
  TERMS = OTHERS + 2 * (LINEAR_SUMS - 1)
};
#define REST_OF(sum) ((sum) == LINEAR_SUM ? (int)REST : OTHERS + 2 * ((sum)-1))  // the term of the high parts follows it
#define IS_SQUARE(k) ((k) >= LOW_LOW && (k) < OTHERS)
#define LINEAR_OF(k) ((k) < LOW_LOW ? (int)LINEAR_SUM : 1 + ((k)-OTHERS) / 2)
#define NEEDED(k) ((needs & (IS_SQUARE(k) ? (int)NEED_SQUARES : linear_need(LINEAR_OF(k)))) != 0)
// A term has the unit 2^TERM_UNIT units, or square units. A product of two different parts counts twice.
#define TERM_UNIT(k) (PART * (!IS_SQUARE(k) ? 2 * ((k) % 2) : (k) < HIGH_LOW ? (k)-LOW_LOW : (k)-MIDDLE_LOW))
#define TERM_TWICE(k) ((k) == MIDDLE_LOW || (k) == HIGH_LOW || (k) == HIGH_MIDDLE ? 1 : 0)
// 1.5 * 2^52 units, as bits
#define START_AT(exponent) (((u64)(1023 + 52 + (exponent)) << 52) | ((u64)1 << 51))
#define START_BITS(k) START_AT((IS_SQUARE(k) ? 2 : 1) * SCALED_UNIT + TERM_UNIT(k))

// What was seen of finite elements. -0 and +0 compare as equal. So the or and the and of all bits are kept if zeros are
// counted. If a zero is an extremum, these tell the signs of the zeros.
typedef struct {
  v_f64 top, bottom;
  v_u64 negatives, zeros, any_bits, all_bits;
} Seen;

// The kind of round that is expected, because the last one was such: inside of the window; the same with zeros; the
// same with NaN, Inf and zeros; anything else.
enum { PLAIN, ZEROS, SPECIALS, STRANGE };

typedef struct {
  v_u64 totals[TERMS];  // the bits of the rounds' sums, with their starts
  Seen seen;
  v_u64 nans, positive_infs, negative_infs;
  f64 smallest, largest, scale;  // of the window; zeros are always inside
  u32 unit;
  u32 rounds;    // in the totals
  u32 missed;    // rounds outside of the window since it moved
  u32 expected;  // PLAIN, ZEROS, SPECIALS or STRANGE
  Bins bins[LINEAR_SUMS];
} Fold;

#define INFINITY_DOUBLE AS_F64(INF_BITS)

INLINE void clear(Fold* fold) {
  UNROLL
  for (int k = 0; k < TERMS; ++k) fold->totals[k] = SPLAT(u64, 0);
  fold->rounds = 0;
}

INLINE void move_window(Fold* fold, i32 highest) {
  highest = MIN(highest, MAX_EXPONENT - 1);
  const i32 lowest = MAX(highest - SPAN_DOUBLE, 1);
  fold->largest = AS_F64(((u64)(highest + 1) << 52) - 1);
  fold->smallest = AS_F64(lowest == 1 ? 1 : (u64)lowest << 52);
  fold->unit = (u32)(lowest - 1);
  // Scales the last bit of the smallest elements from 2^(unit - 1074) to 2^SCALED_UNIT. It is normal for every window.
  fold->scale = AS_F64((u64)(1023 + SCALED_UNIT + 1074 - (i32)fold->unit) << 52);
  fold->missed = 0;
}

INLINE void flush(Fold* fold, WORDS i64* partial, const int needs) {
  if (fold->rounds == 0) return;
  UNROLL
  for (int k = 0; k < TERMS; ++k) {
    if (!NEEDED(k)) continue;
    const u64 starts = (u64)fold->rounds * LANES(f64) * START_BITS(k);
    const i64 sum = (i64)((u64)ADD_LANES(u64, fold->totals[k]) - starts);
    deposit(partial + (IS_SQUARE(k) ? (int)OFFSET(SQUARES) : LINEAR_OFFSET(LINEAR_OF(k))), sum,
            (IS_SQUARE(k) ? 2 : 1) * fold->unit + TERM_UNIT(k) + TERM_TWICE(k));
  }
  clear(fold);
}

INLINE void see_nothing(Seen* seen) {
  seen->top = SPLAT(f64, -INFINITY_DOUBLE);
  seen->bottom = SPLAT(f64, INFINITY_DOUBLE);
  seen->negatives = seen->zeros = seen->any_bits = SPLAT(u64, 0);
  seen->all_bits = SPLAT(u64, ~(u64)0);
}

INLINE void add_seen(Seen* to, const Seen* from) {
  to->top = LARGER(to->top, from->top);
  to->bottom = SMALLER(to->bottom, from->bottom);
  to->negatives += from->negatives;
  to->zeros += from->zeros;
  to->any_bits |= from->any_bits;
  to->all_bits &= from->all_bits;
}

INLINE void open(Fold* fold, const int needs) {
  clear(fold);
  move_window(fold, MAX_EXPONENT / 2 + 2);  // data of unit size fits
  fold->missed = STAY_DOUBLE;
  if ((needs & NEED_EXACT) == 0) {  // only NaN and Inf leave the window
    fold->smallest = AS_F64(1);
    fold->largest = AS_F64(INF_BITS - 1);
    fold->scale = 0;
  }
  see_nothing(&fold->seen);
  fold->nans = fold->positive_infs = fold->negative_infs = SPLAT(u64, 0);
  fold->expected = PLAIN;
  FOR_EACH_LINEAR(fold->bins[sum].elements = 0;)
}

// The keys of the finite elements' extrema. If there is no element, the highest lies below the lowest.
INLINE void finite_extrema(const Seen* seen, i64* highest, i64* lowest) {
  *highest = MAX_LANE(i64, KEY(i64, seen->top));
  *lowest = MIN_LANE(i64, KEY(i64, seen->bottom));
  // The keys of -0 and +0 are -1 and 0.
  if (*highest == -1 || *highest == 0) *highest = MAX_LANE(i64, AS(i64, seen->all_bits)) < 0 ? -1 : 0;
  if (*lowest == -1 || *lowest == 0) *lowest = MIN_LANE(i64, AS(i64, seen->any_bits)) < 0 ? -1 : 0;
}

INLINE void close(Fold* fold, WORDS i64* partial, const int needs) {
  flush(fold, partial, needs);
  FOR_EACH_LINEAR(if (linear_is_lifted(sum, needs)) flush_bins(&fold->bins[sum], partial, sum);)
  const Seen* seen = &fold->seen;
  ADD(partial[PARTIAL_NANS], ADD_LANES(u64, fold->nans));
  const i64 positive_infs = ADD_LANES(u64, fold->positive_infs), negative_infs = ADD_LANES(u64, fold->negative_infs);
  ADD(partial[PARTIAL_POSITIVE_INFS], positive_infs);
  ADD(partial[PARTIAL_NEGATIVE_INFS], negative_infs);
  if (needs & NEED_SIGNS) {
    ADD(partial[PARTIAL_ZEROS], ADD_LANES(u64, seen->zeros));
    ADD(partial[PARTIAL_NEGATIVES], ADD_LANES(u64, seen->negatives));
  }
  if (needs & NEED_EXTREMA) raise_infinities(partial, INF_BITS, positive_infs, negative_infs);
  i64 highest, lowest;
  finite_extrema(seen, &highest, &lowest);
  raise_finite(partial, highest, lowest, needs);
}

// What the fold has seen so far, for fold_indices.h: returns SEEN_NAN and SEEN_INF, and sets the keys of the extrema.
// If there is no number, the highest lies below the lowest.
INLINE int so_far(const Fold* fold, const WORDS i64* partial, SPACE const u8* p, const u32 count, i64* highest,
                  i64* lowest) {
  (void)p;
  (void)count;
  const int positive = partial[PARTIAL_POSITIVE_INFS] != 0 || ANY(i64, fold->positive_infs != (u64)0);
  const int negative = partial[PARTIAL_NEGATIVE_INFS] != 0 || ANY(i64, fold->negative_infs != (u64)0);
  finite_extrema(&fold->seen, highest, lowest);
  widen_to_infinities(INF_BITS, positive, negative, highest, lowest);
  const int has_nan = partial[PARTIAL_NANS] != 0 || ANY(i64, fold->nans != (u64)0);
  return (has_nan ? SEEN_NAN : 0) | (positive || negative ? SEEN_INF : 0);
}

// Adds a vector of elements to a round's sums. If the window holds every element, no operation rounds but the two
// additions that cut x.
INLINE void add(v_f64* sums, v_f64 x, v_f64 scale, const int needs) {
  const v_f64 raised = MUL_ADD(x, scale, sums[HIGH]);  // stays NaN after a NaN, or after an Inf and another element
  if (needs & NEED_EXACT) {
    const v_f64 high = raised - sums[HIGH];
    const v_f64 rest = MUL_ADD(x, scale, -high);
    if (needs & NEED_SUM) sums[REST] += rest;
    FOR_EACH_LINEAR(if (sum != LINEAR_SUM && (needs & linear_need(sum))) {
      sums[REST_OF(sum)] += linear_part(rest, x, sum);
      sums[REST_OF(sum) + 1] += linear_part(high, x, sum);
    })
    if (needs & NEED_SQUARES) {
      const v_f64 cut = SPLAT(f64, AS_F64(START_AT(SCALED_UNIT + PART)));
      const v_f64 middle = (rest + cut) - cut;
      const v_f64 low = rest - middle;
      sums[LOW_LOW] = MUL_ADD(low, low, sums[LOW_LOW]);
      sums[MIDDLE_LOW] = MUL_ADD(middle, low, sums[MIDDLE_LOW]);
      sums[MIDDLE_MIDDLE] = MUL_ADD(middle, middle, sums[MIDDLE_MIDDLE]);
      sums[HIGH_LOW] = MUL_ADD(high, low, sums[HIGH_LOW]);
      sums[HIGH_MIDDLE] = MUL_ADD(high, middle, sums[HIGH_MIDDLE]);
      sums[HIGH_HIGH] = MUL_ADD(high, high, sums[HIGH_HIGH]);
    }
  }
  sums[HIGH] = raised;
}

INLINE void start(v_f64* sums) {
  UNROLL
  for (int k = 0; k < TERMS; ++k) sums[k] = SPLAT(f64, AS_F64(START_BITS(k)));
}

INLINE void keep(Fold* fold, WORDS i64* partial, const v_f64* sums, const int needs) {
  UNROLL
  for (int k = 0; k < TERMS; ++k) {
    if (NEEDED(k)) fold->totals[k] += AS(u64, sums[k]);
  }
  if (++fold->rounds == ROUNDS_DOUBLE) flush(fold, partial, needs);
}

// Sees a vector of elements. If none is NaN, `near` becomes the smallest magnitude. With `zeros` it becomes the
// smallest one that is not 0.
INLINE void see(Seen* seen, v_f64* near, v_u64 bits, const int needs, const int zeros) {
  const v_f64 x = AS(f64, bits), none = SPLAT(f64, 0);
  seen->top = LARGER(x, seen->top);  // never NaN
  seen->bottom = SMALLER(x, seen->bottom);
  if (needs & NEED_SIGNS) COUNT_INTO(u64, seen->negatives, x < none);
  if (zeros) {
    COUNT_INTO(u64, seen->zeros, x == none);
    seen->any_bits |= bits;
    seen->all_bits &= bits;
  }
  *near = SMALLER_SIZE(*near, zeros ? (x == none ? SPLAT(f64, INFINITY_DOUBLE) : x) : x);
}

// As see() with `zeros`, for a vector that may have NaN and Inf. Counts these, and returns the vector with 0 instead of
// them.
INLINE v_f64 see_specials(Seen* seen, v_u64* counts, v_f64* near, v_u64 bits, const int needs) {
  const v_f64 infinity = SPLAT(f64, INFINITY_DOUBLE), none = SPLAT(f64, 0);
  const v_f64 x = AS(f64, bits), size = AS(f64, bits & MAGNITUDE_MASK);
  const v_f64 finite = size < infinity ? x : none, high = size < infinity ? x : infinity;
  const v_f64 low = size < infinity ? x : -infinity;
  COUNT_INTO(u64, counts[0], x != x);
  COUNT_INTO(u64, counts[1], x == infinity);
  COUNT_INTO(u64, counts[2], x == -infinity);
  if (needs & NEED_SIGNS) COUNT_INTO(u64, seen->negatives, x < none);
  COUNT_INTO(u64, seen->zeros, x == none);
  seen->top = LARGER(low, seen->top);
  seen->bottom = SMALLER(high, seen->bottom);
  seen->any_bits |= AS(u64, finite);  // only the signs of these two are used
  seen->all_bits &= AS(u64, low);
  *near = SMALLER_SIZE(*near, x == none ? infinity : high);
  return finite;
}

// Takes the ROUND elements at p if the window holds them and they are of the expected `kind`. Returns whether it took
// them. PLAIN rounds have no zeros, NaN and Inf. ZEROS rounds have no NaN and Inf.
INLINE int take(Fold* fold, WORDS i64* partial, SPACE const u8* p, SPACE const u8* from, const int needs,
                const int kind) {
  const int zeros = kind != PLAIN;
  const v_f64 scale = SPLAT(f64, fold->scale);
  v_u64 counts[3] = {SPLAT(u64, 0), SPLAT(u64, 0), SPLAT(u64, 0)};
  v_f64 sums[TERMS], near = SPLAT(f64, INFINITY_DOUBLE);
  start(sums);
  Seen seen;
  see_nothing(&seen);
  UNROLL_BY_2
  for (int i = 0; i < ROUND; i += LANES(f64)) {
    const v_u64 bits = LOAD(u64, p + i * 8);
    PREFETCH(from + i * 8);
    v_f64 x = AS(f64, bits);
    if (kind == SPECIALS) {
      x = see_specials(&seen, counts, &near, bits, needs);
    } else {
      see(&seen, &near, bits, needs, zeros);
    }
    add(sums, x, scale, needs);
  }
  const v_f64 farthest = LARGER(seen.top, -seen.bottom);
  if (UNLIKELY(ANY(i64, (farthest > fold->largest) | (near < fold->smallest) | (sums[HIGH] != sums[HIGH])))) {
    fold->expected = !zeros && ANY(i64, near == SPLAT(f64, 0)) ? ZEROS : STRANGE;
    return 0;
  }
  if (zeros) fold->expected = ANY(i64, seen.zeros != (u64)0) ? ZEROS : PLAIN;
  if (kind == SPECIALS) {
    if (ANY(i64, (counts[0] | counts[1] | counts[2]) != (u64)0)) fold->expected = SPECIALS;
    fold->nans += counts[0];
    fold->positive_infs += counts[1];
    fold->negative_infs += counts[2];
  }
  add_seen(&fold->seen, &seen);
  keep(fold, partial, sums, needs);
  return 1;
}

// Counts NaN and Inf among the ROUND elements at p, and leaves them out of `seen`. `near` becomes the smallest
// magnitude of the finite elements but 0.
NOINLINE void see_strange(Fold* fold, Seen* seen, v_f64* near, SPACE const u8* p) {
  const v_f64 infinity = SPLAT(f64, INFINITY_DOUBLE), none = SPLAT(f64, 0);
  *near = infinity;
  seen->top = -infinity;
  seen->bottom = infinity;
  seen->any_bits = SPLAT(u64, 0);
  seen->all_bits = ~seen->any_bits;
  for (int i = 0; i < ROUND; i += LANES(f64)) {
    const v_u64 bits = LOAD(u64, p + i * 8);
    const v_f64 x = AS(f64, bits), size = AS(f64, bits & MAGNITUDE_MASK);
    COUNT_INTO(u64, fold->nans, x != x);
    COUNT_INTO(u64, fold->positive_infs, x == infinity);
    COUNT_INTO(u64, fold->negative_infs, x == -infinity);
    seen->top = LARGER(seen->top, size < infinity ? x : -infinity);
    seen->bottom = SMALLER(seen->bottom, size < infinity ? x : infinity);
    seen->any_bits |= size < infinity ? bits : SPLAT(u64, 0);
    seen->all_bits &= size < infinity ? bits : SPLAT(u64, ~(u64)0);
    *near = SMALLER(*near, size > none ? size : infinity);
  }
}

// Takes the ROUND elements at p, of any kind.
NOINLINE void settle(Fold* fold, WORDS i64* partial, SPACE const u8* p, SPACE const u8* from, const int needs) {
  const v_f64 none = SPLAT(f64, 0);
  v_f64 near = SPLAT(f64, INFINITY_DOUBLE), strange = none;
  Seen seen;
  see_nothing(&seen);
  UNROLL_BY_2
  for (int i = 0; i < ROUND; i += LANES(f64)) {
    const v_u64 bits = LOAD(u64, p + i * 8);
    PREFETCH(from + i * 8);
    see(&seen, &near, bits, needs, 1);
    strange = MUL_ADD(AS(f64, bits), none, strange);
  }
  const int finite = !ANY(i64, strange != strange);
  if (!finite) see_strange(fold, &seen, &near, p);
  // A lane without finite elements has the top -Inf and the bottom Inf.
  const v_f64 far = LARGER(LARGER(seen.top, -seen.bottom), none);
  add_seen(&fold->seen, &seen);
  fold->expected = finite ? ZEROS : SPECIALS;
  if ((needs & NEED_EXACT) == 0) return;
  const i64 largest = MAX_LANE(i64, AS(i64, far)), smallest = MIN_LANE(i64, AS(i64, near));
  if (largest > AS_I64(fold->largest) || smallest < AS_I64(fold->smallest)) {
    const i32 highest = MIN((i32)(largest >> 52) + 1, MAX_EXPONENT - 1);  // with a spare binade
    const i32 lowest = highest - SPAN_DOUBLE;
    if ((lowest > 1 && (i32)(smallest >> 52) < lowest) || fold->rounds + ++fold->missed < STAY_DOUBLE) {
      const i32 first = (i32)(smallest >> 52), last = (i32)(largest >> 52);
      FOR_EACH_LINEAR(if (linear_is_lifted(sum, needs)) {
        bin_round(&fold->bins[sum], partial, p, ROUND, first, last, sum);
      })
      fold->expected = STRANGE;
      return;
    }
    flush(fold, partial, needs);
    move_window(fold, highest);
  }
  const v_f64 scale = SPLAT(f64, fold->scale);
  v_f64 sums[TERMS];
  start(sums);
  UNROLL_BY_2
  for (int i = 0; i < ROUND; i += LANES(f64)) {
    const v_f64 x = AS(f64, LOAD(u64, p + i * 8));
    add(sums, x - x == none ? x : none, scale, needs);
  }
  keep(fold, partial, sums, needs);
}

INLINE u32 fold_some(Fold* fold, WORDS i64* partial, SPACE const u8* p, const u64 left, SPACE const u8* from,
                     const int needs) {
  (void)left;
  for (int first = 0; first < GROUP; first += ROUND, p += ROUND * 8, from += ROUND * 8) {
    if (fold->expected == PLAIN && take(fold, partial, p, from, needs, PLAIN)) continue;
    if (fold->expected == ZEROS && take(fold, partial, p, from, needs, ZEROS)) continue;
    if (fold->expected == SPECIALS && take(fold, partial, p, from, needs, SPECIALS)) continue;
    settle(fold, partial, p, from, needs);
  }
  return GROUP;
}
