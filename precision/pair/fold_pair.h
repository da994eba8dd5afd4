// The fold of two tensors with elements that are float32, or that float32 holds exactly. It runs at the speed of memory
// and gives the words of lift_pair.h. One text for the instruction sets of the host and for a CPU's OpenCL device
// (kernels-cl/cl/pair/cpu.cl).
//
// A GROUP is read twice. The first pass (see_pair) uses lanes of float32. It counts by exact comparisons, and flags
// elements that may be a new greatest difference or outside of the tolerance. Flagged groups are checked again: in
// float32 if that decides (count_outside), else in binary64 (look_again). The second pass sums in lanes of binary64, in
// the windows of fold/fold_windowed.h. A product of two elements of one window is as long as a square, so the three
// sums of products work as the sum of squares does there.
//
// NaN and Inf are lifted, and zeros replace them. The sums of elements below the window are lifted, too.

#define F32_INF 0x7f800000u
#define F32_PLAIN ((u32)27 << 23)  // 2^-100: at or above it see_pair() never computes a subnormal
#define F32_HUGE ((u32)253 << 23)  // 2^126: below it no difference overflows

// The accumulators of all groups so far.
typedef struct {
  pair_tolerance tolerance;
  f32 rtol_below, atol_below;  // a little less than the tolerance, for see_pair()
  f32 rtol_above, atol_above;  // a little more, for count_outside(); Inf if float32 has no such number
  f64 farthest, relative;      // the greatest differences so far
  f32 farthest_below, relative_below;
  int has_unequal;  // PAIR_FIRST_UNEQUAL is set

  v_u32 steps, peak, equal;
  sign_count outside, under_1000th, under_200th;
  u32 groups;

  pair_sums sums;
} pair_fold;

// What the float32 numbers say about the tensors' elements.
typedef struct {
  int mantissa;  // the mantissa bits of the wider dtype
  int bits;      // the float32 numbers are the elements themselves, so their bits are compared
  int values;    // the dtypes differ, so values are compared
  int steps;     // steps are counted between float32 numbers
  int whole;     // both dtypes have integers, so float32 holds their differences
  int greater;   // the tolerance's scale is the greater of |a| and |b|
} pair_source;

// A finite number that is a little below `x`.
INLINE f32 a_little_less(f64 x) {
  const f64 below = x * (1 - 0x1p-20);
  return below < 0x1p-100 ? 0 : below > 0x1.fffffep127 ? 0x1.fffffep127f : (f32)below;
}

// A number that is a little above `x`, or Inf.
INLINE f32 a_little_more(f64 x) {
  const f64 above = x * (1 + 0x1p-20);
  return above > 0x1.fffffep127 ? INFINITY : above < 0x1p-100 ? 0x1p-100f : (f32)above;
}

INLINE void open_pair(pair_fold* fold, pair_tolerance tolerance, const int mantissa) {
  fold->tolerance = tolerance;
  fold->rtol_below = a_little_less(tolerance.rtol);
  fold->atol_below = a_little_less(tolerance.atol);
  fold->rtol_above = a_little_more(tolerance.rtol);
  fold->atol_above = a_little_more(tolerance.atol);
  fold->farthest = fold->relative = 0;
  fold->farthest_below = fold->relative_below = 0;
  fold->has_unequal = 0;
  fold->steps = fold->peak = fold->equal = SPLAT(u32, 0);
  fold->outside = fold->under_1000th = fold->under_200th = ZERO(sign_count);
  fold->groups = 0;
  open_pair_sums(&fold->sums, mantissa);
}

INLINE void close_pair(pair_fold* fold, WORDS i64* partial, const pair_source source) {
  close_pair_sums(&fold->sums, partial, source.mantissa);
  if (fold->groups == 0) return;
  if (source.steps) RAISE(partial[PAIR_ULP], PAIR_ULP_WORD((u64)MAX_LANE(u32, fold->steps)));
  if (source.bits || source.values) ADD(partial[PAIR_UNEQUAL], (i64)fold->groups * GROUP - ADD_LANES(u32, fold->equal));
  RAISE(partial[PAIR_PEAK], AS_I64((f64)AS_F32(MAX_LANE(u32, fold->peak))));
  ADD(partial[PAIR_OUTSIDE], COUNTED_SIGNS(fold->outside));
  ADD(partial[PAIR_UNDER_1000TH], COUNTED_SIGNS(fold->under_1000th));
  ADD(partial[PAIR_UNDER_200TH], COUNTED_SIGNS(fold->under_200th));
}

// What see_pair() finds in a group.
typedef struct {
  v_u32 of_both, of_b;  // the greatest sizes
  v_u32 least;          // the smallest size
  v_u32 steps;          // between elements of equal signs
  v_u32 differs;        // the first bit of a lane: some signs differ
  v_u32 equal;
  sign_count under_1000th, under_200th;
  sign_count may_be_out, must_be_out;  // outside of the tolerance
  v_f32 farthest;
  v_f32 left;  // how much less the difference is than the greatest relative one so far; below 0 if it may be more
} pair_seen;

INLINE void see_pair(pair_seen* to, const pair_fold* fold, SPACE const u8* a, SPACE const u8* b,
                     const pair_source source) {
  const v_f32 relative_below = SPLAT(f32, fold->relative_below);
  const v_f32 rtol_below = SPLAT(f32, fold->rtol_below), atol_below = SPLAT(f32, fold->atol_below);
  const v_f32 rtol_above = SPLAT(f32, fold->rtol_above), atol_above = SPLAT(f32, fold->atol_above);
  const v_f32 by_1000 = SPLAT(f32, 1000), by_200 = SPLAT(f32, 200), none = SPLAT(f32, 0);
  pair_seen seen;
  seen.of_both = seen.of_b = seen.steps = seen.differs = seen.equal = SPLAT(u32, 0);
  seen.under_1000th = seen.under_200th = seen.may_be_out = seen.must_be_out = ZERO(sign_count);
  seen.least = SPLAT(u32, 0xffffffff);
  seen.farthest = seen.left = none;
  for (int i = 0; i < GROUP; i += LANES(u32)) {
    const v_u32 x = LOAD(u32, a + i * 4), y = LOAD(u32, b + i * 4);
    const v_u32 size_x = x & F32_SIZE, size_y = y & F32_SIZE;
    const v_u32 high = MAX(size_x, size_y), low = MIN(size_x, size_y);
    seen.of_both = MAX(seen.of_both, high);
    seen.of_b = MAX(seen.of_b, size_y);
    seen.least = MIN(seen.least, low);
    if (source.steps) {
      seen.steps = MAX(seen.steps, high - low);
      seen.differs |= x ^ y;
    }
    if (source.bits) COUNT_INTO(u32, seen.equal, x == y);
    if (source.values) COUNT_INTO(u32, seen.equal, AS(f32, x) == AS(f32, y));
    const v_f32 d = AS(f32, AS(u32, AS(f32, x) - AS(f32, y)) & F32_SIZE);
    const v_f32 scale = AS(f32, source.greater ? high : size_y);
    seen.farthest = MAX(d, seen.farthest);
    const v_f32 left = MULTIPLY_ADD(relative_below, scale, -d);  // NaN for Inf times 0
    seen.left = SMALLER(left, seen.left);
    COUNT_SIGNS_INTO(seen.may_be_out, MULTIPLY_ADD(rtol_below, scale, atol_below) - d);
    COUNT_SIGNS_INTO(seen.must_be_out, MULTIPLY_ADD(rtol_above, scale, atol_above) - d);
    // The comparison is exact. If a and b are within a factor of 2, their difference is exact, and a rounding keeps its
    // sign. Otherwise d is far above both bounds. The least float replaces 0; only 0 is near to 0.
    const v_f32 bound = AS(f32, MAX(size_y, SPLAT(u32, 1)));
    COUNT_SIGNS_INTO(seen.under_1000th, MULTIPLY_SUBTRACT(by_1000, d, bound));
    COUNT_SIGNS_INTO(seen.under_200th, MULTIPLY_SUBTRACT(by_200, d, bound));
  }
  *to = seen;
}

// The greatest number of steps in a group in which some signs differ.
NOINLINE u32 steps_across_zero(SPACE const u8* a, SPACE const u8* b) {
  v_u32 most = SPLAT(u32, 0);
  for (int i = 0; i < GROUP; i += LANES(u32)) {
    const v_u32 x = LOAD(u32, a + i * 4), y = LOAD(u32, b + i * 4);
    const v_u32 size_x = x & F32_SIZE, size_y = y & F32_SIZE, differ = AS(u32, AS(i32, x ^ y) >> 31);
    most = MAX(most, MAX(size_x, size_y) - ((MIN(size_x, size_y) ^ differ) - differ));
  }
  return (u32)MAX_LANE(u32, most);
}

// The smallest size of a group but 0.
NOINLINE u32 smallest_but_zero(SPACE const u8* a, SPACE const u8* b) {
  v_u32 least = SPLAT(u32, 0xffffffff);
  for (int i = 0; i < GROUP; i += LANES(u32)) {
    const v_u32 x = LOAD(u32, a + i * 4), y = LOAD(u32, b + i * 4);
    least = MIN(least, MIN((x & F32_SIZE) - 1u, (y & F32_SIZE) - 1u));
  }
  return (u32)MIN_LANE(u32, least) + 1;
}

// Compares each element with the greatest differences so far and with the tolerance, as lift_distance() does.
NOINLINE void look_again(pair_fold* fold, WORDS i64* partial, SPACE const u8* a, SPACE const u8* b, u64 index) {
  const v_f64 farthest = SPLAT(f64, fold->farthest), relative = SPLAT(f64, fold->relative);
  const v_f64 rtol = SPLAT(f64, fold->tolerance.rtol), atol = SPLAT(f64, fold->tolerance.atol);
  const v_u64 size = SPLAT(u64, ((u64)1 << 63) - 1), of_a = fold->tolerance.greater ? size : SPLAT(u64, 0);
  v_i64 is_farther = SPLAT(i64, 0), outside = SPLAT(i64, 0);
  for (int i = 0; i < GROUP; i += LANES(f64)) {
    const v_f64 x = load_f64_float32(a + i * 4), y = load_f64_float32(b + i * 4);
    const v_f64 d = AS(f64, AS(u64, x - y) & size), size_y = AS(f64, AS(u64, y) & size);
    const v_f64 scale = MAX(size_y, AS(f64, AS(u64, x) & of_a));
    const v_f64 bound = rtol * scale;
    is_farther |= d > farthest;
    is_farther |= d / scale > relative;
    outside -= d > atol + bound;
  }
  const i64 outside_count = ADD_LANES(i64, outside);
  if (!ANY(i64, is_farther) && (outside_count == 0 || partial[PAIR_FIRST_OUTSIDE] > ~(i64)index)) {
    ADD(partial[PAIR_OUTSIDE], outside_count);
    return;
  }
  for (int i = 0; i < GROUP; ++i) {
    const f64 x = (f64)LOAD_ONE(f32, a + i * 4), y = (f64)LOAD_ONE(f32, b + i * 4), d = fabs(x - y);
    const i64 place = ~(i64)(index + (u64)i);
    const f64 scale = fold->tolerance.greater && fabs(x) > fabs(y) ? fabs(x) : fabs(y);
    const f64 bound = fold->tolerance.rtol * scale;
    if (d > fold->tolerance.atol + bound) {
      ADD(partial[PAIR_OUTSIDE], 1);
      RAISE(partial[PAIR_FIRST_OUTSIDE], place);
    }
    if (d != 0) raise_distances(&fold->farthest, &fold->relative, partial, d, scale, place);
  }
  fold->farthest_below =
      (f32)fold->farthest;  // rounding is monotonic: a greater difference is at least this in float32
  fold->relative_below = isinf(fold->relative) ? INFINITY : a_little_less(fold->relative);
}

// Lifts the elements of a group that are NaN or Inf in either tensor, but not the counts of near elements: the copies
// have zeros instead of them, and two zeros are near.
NOINLINE void take_specials_out(WORDS i64* partial, SPACE const u8* a, SPACE const u8* b, u64 index, u32* held_a,
                                u32* held_b, const pair_source source) {
  for (int i = 0; i < GROUP; ++i) {
    held_a[i] = LOAD_ONE(u32, a + i * 4);
    held_b[i] = LOAD_ONE(u32, b + i * 4);
    if (MAX(held_a[i] & F32_SIZE, held_b[i] & F32_SIZE) < F32_INF) continue;
    const i64 place = ~(i64)(index + (u64)i);
    number x, y;
    unpack_into_float32(&x, a + i * 4);
    unpack_into_float32(&y, b + i * 4);
    const int is_equal = lift_specials(partial, x, y, place);
    if ((source.bits && held_a[i] != held_b[i]) || (source.values && !is_equal)) lift_unequal(partial, place);
    ADD(partial[PAIR_UNDER_1000TH], -1);
    ADD(partial[PAIR_UNDER_200TH], -1);
    held_a[i] = held_b[i] = 0;
  }
}

// Folds the GROUP elements at a and b.
INLINE void fold_pair_group(pair_fold* fold, WORDS i64* partial, SPACE const u8* a, SPACE const u8* b, u64 index,
                            const pair_source source) {
  u32 held_a[GROUP], held_b[GROUP];
  pair_seen seen;
  see_pair(&seen, fold, a, b, source);
  u32 largest = (u32)MAX_LANE(u32, seen.of_both);
  if (UNLIKELY(largest >= F32_INF)) {
    take_specials_out(partial, a, b, index, held_a, held_b, source);
    a = (SPACE const u8*)held_a;
    b = (SPACE const u8*)held_b;
    see_pair(&seen, fold, a, b, source);
    largest = (u32)MAX_LANE(u32, seen.of_both);
  }
  fold->peak = MAX(fold->peak, seen.of_b);
  fold->equal += seen.equal;
  fold->under_1000th += seen.under_1000th;
  fold->under_200th += seen.under_200th;
  ++fold->groups;
  if (source.steps) {
    if (ANY(i32, AS(i32, seen.differs) < 0)) {
      fold->steps = MAX(fold->steps, SPLAT(u32, steps_across_zero(a, b)));
    } else {
      fold->steps = MAX(fold->steps, seen.steps);
    }
  }
  if (largest == 0 && !source.bits) return;  // zeros may differ in sign
  if ((source.bits || source.values) && UNLIKELY(!fold->has_unequal) && ADD_LANES(u32, seen.equal) != GROUP) {
    fold->has_unequal = 1;
    int first = 0;
    while (source.bits ? LOAD_ONE(u32, a + first * 4) == LOAD_ONE(u32, b + first * 4)
                       : LOAD_ONE(f32, a + first * 4) == LOAD_ONE(f32, b + first * 4)) {
      ++first;
    }
    RAISE(partial[PAIR_FIRST_UNEQUAL], ~(i64)(index + (u64)first));
  }
  if (largest == 0) return;
  u32 smallest = (u32)MIN_LANE(u32, seen.least);
  if (smallest == 0) smallest = smallest_but_zero(a, b);
  const f32 farthest = MAX_LANE(f32, seen.farthest);
  if (farthest > 0) {
    const int may_be_out = COUNTS_DIFFER(seen.may_be_out, ZERO(sign_count));
    // Sizes of few binades and short mantissas have differences of 24 bits. Then float32 decides, and an equal
    // difference, which is frequent there, is not looked at again.
    const i32 binades = (i32)(largest >> 23) - (i32)MAX(smallest >> 23, 1u);
    const int is_exact = source.whole || binades + source.mantissa <= 23;
    const int may_be_farther = is_exact ? (f64)farthest > fold->farthest : farthest >= fold->farthest_below;
    // Differences that are subnormal or infinite are not decided here.
    const int is_decided = smallest >= F32_PLAIN && (largest < F32_HUGE || !may_be_out) &&
                           !COUNTS_DIFFER(seen.may_be_out, seen.must_be_out);
    const int has_first = !may_be_out || partial[PAIR_FIRST_OUTSIDE] > ~(i64)index;
    if (UNLIKELY(may_be_farther || ANY(i32, seen.left < 0) || !is_decided || !has_first)) {
      look_again(fold, partial, a, b, index);
    } else {
      fold->outside += seen.may_be_out;
    }
  }
  add_pair_group(&fold->sums, partial, a, b, smallest, largest, source.mantissa);
}
