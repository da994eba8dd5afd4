// The fold of two tensors whose elements are, or become exactly, float32: at the speed of memory, and the same words as
// lift_pair.h's. One text for the instruction sets of the host; host/simd/vectors.h says what a vector is.
//
// A GROUP is seen twice. In lanes of float32 (see_pair), whatever is decided there is decided for certain: counts by
// exact comparisons, and what only might be a new greatest difference, or outside the tolerance, is looked at again in
// binary64 (look_again). Then the sums, in lanes of binary64, by the windows of fold/fold_windowed.h: a product of two
// elements of one window is as long as a square, so all three sums of products go as squares do there.
//
// NaN and Inf are lifted, and zeros put in their places. So are the sums of elements that lie below the window.

// A lane adds 2^LOG2_STEPS elements between flushes. |a - b| is one bit longer than an element (precision/README.md).
#define PAIR_LOG2_STEPS 9
#define PAIR_SPAN(mantissa) (51 - (mantissa) - 1 - PAIR_LOG2_STEPS)
#define PAIR_SPLIT(mantissa) (PAIR_LOG2_STEPS + 2 * (PAIR_SPAN(mantissa) + (mantissa)) - 51)
// In the narrow window, of short mantissas, the products of a group need no splitting.
#define PAIR_HAS_NARROW(mantissa) ((mantissa) <= 12)
#define PAIR_LOG2_IN_GROUP (LANES(f64) == 8 ? 4 : LANES(f64) == 4 ? 5 : 6)
#define PAIR_NARROW_SPAN(mantissa) ((51 - PAIR_LOG2_IN_GROUP) / 2 - (mantissa))
#define PAIR_NARROW_GROUPS 256

#define F32_INF 0x7f800000u
#define F32_SIZE 0x7fffffffu
#define F32_PLAIN ((u32)27 << 23)  // 2^-100: from there up no operation of see_pair meets a subnormal

enum { WORDS_PRODUCTS, WORDS_SQUARES_A, WORDS_SQUARES_B, PAIR_SQUARES };

typedef struct {
  u32 smallest, largest;  // sizes that it holds, as bits; 0 it always holds
  u32 unit;               // 2^unit of the partial's
} pair_window;

// What is kept of the groups so far.
typedef struct {
  pair_tolerance tolerance;
  f32 rtol_below, atol_below;  // a little less, for see_pair
  f64 farthest, relative;      // the greatest so far
  f32 farthest_below, relative_below;
  int has_unequal;  // PAIR_FIRST_UNEQUAL is known

  v_u32 steps, peak, equal, under_1000th, under_200th;
  u32 groups;

  v_f64 high[PAIR_SQUARES], low[PAIR_SQUARES], distances;
  f64 high_start, low_start, distances_start;
  pair_window wide;
  u32 added;  // to a lane since the last flush
  v_i64 narrow_squares[PAIR_SQUARES], narrow_distances;
  f64 narrow_square_start, narrow_distances_start;
  pair_window narrow;
  u32 narrow_groups;
} pair_fold;

// How the elements came: what of them the float32 say.
typedef struct {
  int mantissa;  // its bits, of the wider dtype
  int bits;      // the float32 are the tensors' own elements, so that their bits are compared
  int values;    // of two dtypes: values are compared
  int steps;     // counted between float32
} pair_source;

// 1.5 * 2^(52 + exponent)
INLINE f64 pair_start(i32 exponent) { return AS_F64(((u64)(1023 + 52 + exponent) << 52) | ((u64)1 << 51)); }

// A number that is below `x`, near it, and finite.
INLINE f32 a_little_less(f64 x) {
  const f64 below = x * (1 - 0x1p-20);
  return below < 0x1p-100 ? 0 : below > 0x1.fffffep127 ? 0x1.fffffep127f : (f32)below;
}

// The window whose upper end is at the stored exponent `highest`.
INLINE void place_pair_window(pair_window* window, i32 highest, i32 span, int mantissa) {
  highest = MIN(highest, 254);
  const i32 lowest = MAX(highest - span, 1);
  window->smallest = lowest == 1 ? 1 : (u32)lowest << 23;
  window->largest = ((u32)(highest + 1) << 23) - 1;
  window->unit = (u32)(lowest - 1 + 24 - mantissa);
}

INLINE int pair_window_holds(const pair_window* window, u32 smallest, u32 largest) {
  return smallest >= window->smallest && largest <= window->largest;
}

INLINE void clear_pair_sums(pair_fold* fold) {
  for (int i = 0; i < PAIR_SQUARES; ++i) {
    fold->high[i] = SPLAT(f64, fold->high_start);
    fold->low[i] = SPLAT(f64, fold->low_start);
  }
  fold->distances = SPLAT(f64, fold->distances_start);
  fold->added = 0;
}

INLINE void clear_narrow_pair_sums(pair_fold* fold) {
  for (int i = 0; i < PAIR_SQUARES; ++i) fold->narrow_squares[i] = SPLAT(i64, 0);
  fold->narrow_distances = SPLAT(i64, 0);
  fold->narrow_groups = 0;
}

// The first words of the three sums of products, in their order.
#define PAIR_PLACE_OF(i) \
  ((i) == WORDS_PRODUCTS ? (int)PAIR_PLACE_PRODUCTS_Float : (i) == WORDS_SQUARES_A ? (int)PAIR_PLACE_SQUARES_A_Float : (int)PAIR_PLACE_SQUARES_B_Float)

NOINLINE void flush_pair(pair_fold* fold, WORDS i64* partial, const int mantissa) {
  if (fold->added != 0) {
    const u32 unit = fold->wide.unit;
    for (int i = 0; i < PAIR_SQUARES; ++i) {
      const v_i64 high = AS(i64, fold->high[i]) - AS_I64(fold->high_start), low = AS(i64, fold->low[i]) - AS_I64(fold->low_start);
      deposit(partial + PAIR_PLACE_OF(i), ADD_LANES(i64, high), 2 * unit + (u32)PAIR_SPLIT(mantissa));
      deposit(partial + PAIR_PLACE_OF(i), ADD_LANES(i64, low), 2 * unit);
    }
    const v_i64 distances = AS(i64, fold->distances) - AS_I64(fold->distances_start);
    deposit(partial + PAIR_PLACE_DISTANCES_Float, ADD_LANES(i64, distances), unit);
  }
  clear_pair_sums(fold);
  if (fold->narrow_groups != 0) {
    for (int i = 0; i < PAIR_SQUARES; ++i) {
      deposit(partial + PAIR_PLACE_OF(i), ADD_LANES(i64, fold->narrow_squares[i]), 2 * fold->narrow.unit);
    }
    deposit(partial + PAIR_PLACE_DISTANCES_Float, ADD_LANES(i64, fold->narrow_distances), fold->narrow.unit);
  }
  clear_narrow_pair_sums(fold);
}

INLINE void place_pair(pair_fold* fold, i32 highest, const int mantissa) {
  place_pair_window(&fold->wide, highest, PAIR_SPAN(mantissa), mantissa);
  const i32 exponent = (i32)fold->wide.unit + SUM_EXPONENT_Float;
  fold->high_start = pair_start(2 * exponent + PAIR_SPLIT(mantissa));
  fold->low_start = pair_start(2 * exponent);
  fold->distances_start = pair_start(exponent);
  clear_pair_sums(fold);
}

INLINE void place_narrow_pair(pair_fold* fold, i32 highest, const int mantissa) {
  place_pair_window(&fold->narrow, highest, PAIR_NARROW_SPAN(mantissa), mantissa);
  const i32 exponent = (i32)fold->narrow.unit + SUM_EXPONENT_Float;
  fold->narrow_square_start = pair_start(2 * exponent);
  fold->narrow_distances_start = pair_start(exponent);
  clear_narrow_pair_sums(fold);
}

INLINE void open_pair(pair_fold* fold, pair_tolerance tolerance, const int mantissa) {
  fold->tolerance = tolerance;
  fold->rtol_below = a_little_less(tolerance.rtol);
  fold->atol_below = a_little_less(tolerance.atol);
  fold->farthest = fold->relative = 0;
  fold->farthest_below = fold->relative_below = 0;
  fold->has_unequal = 0;
  fold->steps = fold->peak = fold->equal = fold->under_1000th = fold->under_200th = SPLAT(u32, 0);
  fold->groups = 0;
  place_pair(fold, 127 + 3, mantissa);  // data of unit size fits
  place_narrow_pair(fold, 127 + 3, mantissa);
}

INLINE void close_pair(pair_fold* fold, WORDS i64* partial, const pair_source source) {
  flush_pair(fold, partial, source.mantissa);
  if (fold->groups == 0) return;
  if (source.steps) RAISE(partial[PAIR_ULP], PAIR_ULP_WORD((u64)MAX_LANE(u32, fold->steps)));
  if (source.bits || source.values) ADD(partial[PAIR_UNEQUAL], (i64)fold->groups * GROUP - ADD_LANES(u32, fold->equal));
  RAISE(partial[PAIR_PEAK], AS_I64((f64)AS_F32(MAX_LANE(u32, fold->peak))));
  ADD(partial[PAIR_UNDER_1000TH], ADD_LANES(u32, fold->under_1000th));
  ADD(partial[PAIR_UNDER_200TH], ADD_LANES(u32, fold->under_200th));
}

// A group, seen in lanes of float32.
typedef struct {
  v_u32 largest, least;  // of all sizes; least is the smallest but 0, less 1
  v_u32 peak, steps;
  v_u32 equal, under_1000th, under_200th;
  v_f32 farthest;
  v_i32 may_be_relative, may_be_outside;
} pair_seen;

INLINE pair_seen see_pair(const pair_fold* fold, SPACE const u8* a, SPACE const u8* b, const pair_source source) {
  const v_f32 relative_below = SPLAT(f32, fold->relative_below);
  const v_f32 rtol_below = SPLAT(f32, fold->rtol_below), atol_below = SPLAT(f32, fold->atol_below);
  const v_u32 of_a = SPLAT(u32, fold->tolerance.greater ? F32_SIZE : 0);
  const v_f32 by_1000 = SPLAT(f32, 1000), by_200 = SPLAT(f32, 200);
  pair_seen seen;
  seen.largest = seen.peak = seen.steps = seen.equal = seen.under_1000th = seen.under_200th = SPLAT(u32, 0);
  seen.least = SPLAT(u32, 0xffffffff);
  seen.farthest = SPLAT(f32, 0);
  seen.may_be_relative = seen.may_be_outside = SPLAT(i32, 0);
  for (int i = 0; i < GROUP; i += LANES(u32)) {
    const v_u32 x = LOAD(u32, a + i * 4), y = LOAD(u32, b + i * 4);
    const v_u32 size_x = x & F32_SIZE, size_y = y & F32_SIZE;
    const v_u32 high = MAX(size_x, size_y), low = MIN(size_x, size_y);
    seen.largest = MAX(seen.largest, high);
    seen.least = MIN(seen.least, MIN(size_x - 1u, size_y - 1u));
    seen.peak = MAX(seen.peak, size_y);
    if (source.steps) {  // size + size where the signs differ
      const v_u32 differ = AS(u32, AS(i32, x ^ y) >> 31);
      seen.steps = MAX(seen.steps, high - ((low ^ differ) - differ));
    }
    if (source.bits) COUNT_INTO(u32, seen.equal, x == y);
    if (source.values) COUNT_INTO(u32, seen.equal, AS(f32, x) == AS(f32, y));
    const v_f32 d = AS(f32, AS(u32, AS(f32, x) - AS(f32, y)) & F32_SIZE), scale = AS(f32, MAX(size_y, x & of_a));
    seen.farthest = MAX(d, seen.farthest);
    seen.may_be_relative |= d > relative_below * scale;
    seen.may_be_outside |= d > rtol_below * scale + atol_below;
    // Exact: where a and b are within a factor of 2 their difference is, and one rounding keeps a sign. Where they are
    // not, d is far above either bound. The least float stands for 0, to which only 0 is near.
    const v_f32 bound = AS(f32, MAX(size_y, SPLAT(u32, 1)));
    seen.under_1000th += AS(u32, MULTIPLY_SUBTRACT(by_1000, d, bound)) >> 31u;
    seen.under_200th += AS(u32, MULTIPLY_SUBTRACT(by_200, d, bound)) >> 31u;
  }
  return seen;
}

// Each element beside the greatest differences so far, and beside the tolerance, as lift_distance has them.
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
    const f64 scale = fold->tolerance.greater && fabs(x) > fabs(y) ? fabs(x) : fabs(y), bound = fold->tolerance.rtol * scale;
    if (d > fold->tolerance.atol + bound) {
      ADD(partial[PAIR_OUTSIDE], 1);
      RAISE(partial[PAIR_FIRST_OUTSIDE], place);
    }
    if (d == 0) continue;
    if (d > fold->farthest) {
      fold->farthest = d;
      raise_key(partial + PAIR_FARTHEST, AS_I64(d), place);
    }
    if (d / scale > fold->relative) {
      fold->relative = d / scale;
      raise_key(partial + PAIR_RELATIVE, AS_I64(d / scale), place);
    }
  }
  fold->farthest_below = (f32)fold->farthest;  // rounding is monotonic: a greater one is at least this in float32
  fold->relative_below = isinf(fold->relative) ? INFINITY : a_little_less(fold->relative);
}

INLINE void add_wide_pair(pair_fold* fold, WORDS i64* partial, SPACE const u8* a, SPACE const u8* b, const int mantissa) {
  const v_u64 size = SPLAT(u64, ((u64)1 << 63) - 1);
  v_f64 high[PAIR_SQUARES], low[PAIR_SQUARES], distances = fold->distances;  // the compiler may keep these in registers
  for (int k = 0; k < PAIR_SQUARES; ++k) {
    high[k] = fold->high[k];
    low[k] = fold->low[k];
  }
  const v_f64 one = ONE;
  for (int i = 0; i < GROUP; i += LANES(f64)) {
    const v_f64 x = load_f64_float32(a + i * 4), y = load_f64_float32(b + i * 4);
    for (int k = 0; k < PAIR_SQUARES; ++k) {
      const v_f64 left = k == WORDS_SQUARES_B ? y : x, right = k == WORDS_SQUARES_A ? x : y;
      const v_f64 raised = MUL_ADD(left, right, high[k]);
      const v_f64 taken = raised - high[k];
      high[k] = raised;
      low[k] += MUL_ADD(left, right, -taken);
    }
    distances = ADD_F64(AS(f64, AS(u64, x - y) & size), one, distances);
  }
  for (int k = 0; k < PAIR_SQUARES; ++k) {
    fold->high[k] = high[k];
    fold->low[k] = low[k];
  }
  fold->distances = distances;
  fold->added += GROUP / LANES(f64);
  if (fold->added == 1 << PAIR_LOG2_STEPS) flush_pair(fold, partial, mantissa);
}

INLINE void add_narrow_pair(pair_fold* fold, WORDS i64* partial, SPACE const u8* a, SPACE const u8* b, const int mantissa) {
  const v_u64 size = SPLAT(u64, ((u64)1 << 63) - 1);
  const v_f64 one = ONE, start = SPLAT(f64, fold->narrow_square_start), distances_start = SPLAT(f64, fold->narrow_distances_start);
  v_f64 products = start, squares_a = start, squares_b = start, distances = distances_start;
  for (int i = 0; i < GROUP; i += LANES(f64)) {
    const v_f64 x = load_f64_float32(a + i * 4), y = load_f64_float32(b + i * 4);
    products = MUL_ADD(x, y, products);
    squares_a = MUL_ADD(x, x, squares_a);
    squares_b = MUL_ADD(y, y, squares_b);
    distances = ADD_F64(AS(f64, AS(u64, x - y) & size), one, distances);
  }
  fold->narrow_squares[WORDS_PRODUCTS] += AS(i64, products) - AS(i64, start);
  fold->narrow_squares[WORDS_SQUARES_A] += AS(i64, squares_a) - AS(i64, start);
  fold->narrow_squares[WORDS_SQUARES_B] += AS(i64, squares_b) - AS(i64, start);
  fold->narrow_distances += AS(i64, distances) - AS(i64, distances_start);
  if (++fold->narrow_groups == PAIR_NARROW_GROUPS) flush_pair(fold, partial, mantissa);
}

// The sums of a group that the windows do not hold as they are.
NOINLINE void settle_pair(pair_fold* fold, WORDS i64* partial, SPACE const u8* a, SPACE const u8* b, u32 smallest, u32 largest,
                          const int mantissa) {
  const i32 highest = MIN((i32)(largest >> 23) + 1, 254), exponent = (i32)(smallest >> 23);  // a binade to spare
  if (PAIR_HAS_NARROW(mantissa) && exponent >= MAX(highest - PAIR_NARROW_SPAN(mantissa), 1)) {
    flush_pair(fold, partial, mantissa);
    place_narrow_pair(fold, highest, mantissa);
    add_narrow_pair(fold, partial, a, b, mantissa);
    return;
  }
  const int would_hold = exponent >= highest - PAIR_SPAN(mantissa) || highest - PAIR_SPAN(mantissa) <= 1;
  if (!pair_window_holds(&fold->wide, smallest, largest) &&
      (would_hold || largest > fold->wide.largest || largest < fold->wide.smallest)) {
    flush_pair(fold, partial, mantissa);
    place_pair(fold, highest, mantissa);
  }
  if (pair_window_holds(&fold->wide, smallest, largest)) {
    add_wide_pair(fold, partial, a, b, mantissa);
    return;
  }
  const pair_kind kind = {1, STEPS_NONE, 0};
  u32 held_a[GROUP], held_b[GROUP];
  for (int i = 0; i < GROUP; ++i) {
    held_a[i] = LOAD_ONE(u32, a + i * 4);
    held_b[i] = LOAD_ONE(u32, b + i * 4);
    const u32 size_a = held_a[i] & F32_SIZE, size_b = held_b[i] & F32_SIZE;
    if ((size_a == 0 || size_a >= fold->wide.smallest) && (size_b == 0 || size_b >= fold->wide.smallest)) continue;
    lift_pair_sums(partial, unpack_float32(a + i * 4), unpack_float32(b + i * 4), kind);
    held_a[i] = held_b[i] = 0;
  }
  add_wide_pair(fold, partial, (const u8*)held_a, (const u8*)held_b, mantissa);
}

// Lifts the elements of a group that are NaN or Inf in either tensor, but for their sums and their nearness, which zeros
// in their places have in the copies.
NOINLINE void take_specials_out(WORDS i64* partial, SPACE const u8* a, SPACE const u8* b, u64 index, u32* held_a, u32* held_b,
                                const pair_source source) {
  for (int i = 0; i < GROUP; ++i) {
    held_a[i] = LOAD_ONE(u32, a + i * 4);
    held_b[i] = LOAD_ONE(u32, b + i * 4);
    if (MAX(held_a[i] & F32_SIZE, held_b[i] & F32_SIZE) < F32_INF) continue;
    const i64 place = ~(i64)(index + (u64)i);
    const int is_equal = lift_specials(partial, unpack_float32(a + i * 4), unpack_float32(b + i * 4), place);
    if ((source.bits && held_a[i] != held_b[i]) || (source.values && !is_equal)) lift_unequal(partial, place);
    ADD(partial[PAIR_UNDER_1000TH], -1);
    ADD(partial[PAIR_UNDER_200TH], -1);
    held_a[i] = held_b[i] = 0;
  }
}

// The GROUP elements at a and b.
INLINE void fold_pair_group(pair_fold* fold, WORDS i64* partial, SPACE const u8* a, SPACE const u8* b, u64 index,
                            const pair_source source) {
  u32 held_a[GROUP], held_b[GROUP];
  pair_seen seen = see_pair(fold, a, b, source);
  if (UNLIKELY(MAX_LANE(u32, seen.largest) >= F32_INF)) {
    take_specials_out(partial, a, b, index, held_a, held_b, source);
    a = (const u8*)held_a;
    b = (const u8*)held_b;
    seen = see_pair(fold, a, b, source);
  }
  const u32 largest = MAX_LANE(u32, seen.largest), smallest = MIN_LANE(u32, seen.least) + 1;
  fold->steps = MAX(fold->steps, seen.steps);
  fold->peak = MAX(fold->peak, seen.peak);
  fold->equal += seen.equal;
  fold->under_1000th += seen.under_1000th;
  fold->under_200th += seen.under_200th;
  ++fold->groups;
  if (largest == 0 && !source.bits) return;  // zeros may be of two signs
  if ((source.bits || source.values) && UNLIKELY(!fold->has_unequal) && ADD_LANES(u32, seen.equal) != GROUP) {
    fold->has_unequal = 1;
    int first = 0;
    while (source.bits ? LOAD_ONE(u32, a + first * 4) == LOAD_ONE(u32, b + first * 4)
                       : LOAD_ONE(f32, a + first * 4) == LOAD_ONE(f32, b + first * 4)) {
      ++first;
    }
    RAISE(partial[PAIR_FIRST_UNEQUAL], ~(i64)(index + (u64)first));
  }
  const f32 farthest = MAX_LANE(f32, seen.farthest);
  const int may_be_farther = farthest > 0 && (farthest >= fold->farthest_below || smallest < F32_PLAIN);
  if (UNLIKELY(may_be_farther || ANY(i32, seen.may_be_relative | seen.may_be_outside))) {
    look_again(fold, partial, a, b, index);
  }
  if (largest == 0) return;
  if (PAIR_HAS_NARROW(source.mantissa) && pair_window_holds(&fold->narrow, smallest, largest)) {
    add_narrow_pair(fold, partial, a, b, source.mantissa);
  } else if (!PAIR_HAS_NARROW(source.mantissa) && pair_window_holds(&fold->wide, smallest, largest)) {
    add_wide_pair(fold, partial, a, b, source.mantissa);
  } else {
    settle_pair(fold, partial, a, b, smallest, largest, source.mantissa);
  }
}
