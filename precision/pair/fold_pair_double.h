// The fold of two tensors with elements that are binary64, or that binary64 holds exactly, if fold_pair.h does not hold
// them: float64, and integers below 2^53 in size. It gives the words of lift_pair.h. One text for C++ and OpenCL C,
// included after fold_pair_parts.h.
//
// A GROUP is read twice. The first pass (see_doubles) computes the differences and bounds of lift_pair.h, rounded as
// there, so it counts exactly. It flags groups that may have a new greatest difference, which are checked again
// (look_at_doubles). The second pass sums. NaN and Inf are lifted, and zeros replace them.

#define F64_INF ((i64)0x7ff << 52)
#define F64_PLAIN ((i64)123 << 52)  // 2^-900: at or above it see_doubles() never rounds to a subnormal

// The accumulators of all groups so far.
typedef struct {
  pair_tolerance tolerance;
  f64 farthest, relative;  // the greatest differences so far
  f64 relative_below;      // a little less
  int has_unequal;         // PAIR_FIRST_UNEQUAL is set
  v_i64 steps, peak;
  u64 steps_across;  // between elements of two signs
  v_u64 equal, under_1000th, under_200th;
  u64 groups;
  pair_parts sums;
} double_fold;

// What follows from the dtypes. pair_kind with constants that the compiler knows.
typedef struct {
  int bits;   // elements are compared by their bits, else by value
  int steps;  // steps are counted
} double_source;

INLINE void open_doubles(double_fold* fold, pair_tolerance tolerance, i32 least_unit) {
  fold->tolerance = tolerance;
  fold->farthest = fold->relative = fold->relative_below = 0;
  fold->has_unequal = 0;
  fold->steps = fold->peak = SPLAT(i64, 0);
  fold->steps_across = fold->groups = 0;
  fold->equal = fold->under_1000th = fold->under_200th = SPLAT(u64, 0);
  open_pair_parts(&fold->sums, least_unit, 53);
}

INLINE void close_doubles(double_fold* fold, WORDS i64* partial, const pair_kind kind, const double_source source) {
  flush_pair_parts(&fold->sums, partial, kind);
  if (fold->groups == 0) return;
  if (source.steps) RAISE(partial[PAIR_ULP], PAIR_ULP_WORD(MAX((u64)MAX_LANE(i64, fold->steps), fold->steps_across)));
  ADD(partial[PAIR_UNEQUAL], (i64)fold->groups * GROUP - ADD_LANES(u64, fold->equal));
  RAISE(partial[PAIR_PEAK], MAX_LANE(i64, fold->peak));
  ADD(partial[PAIR_UNDER_1000TH], ADD_LANES(u64, fold->under_1000th));
  ADD(partial[PAIR_UNDER_200TH], ADD_LANES(u64, fold->under_200th));
}

// What see_doubles() finds in a group.
typedef struct {
  v_i64 of_both, of_b, least;  // the greatest sizes, and the smallest
  v_i64 steps;                 // between elements of equal signs
  v_u64 differs;               // the first bit of a lane: some signs differ
  v_u64 equal, outside, under_1000th, under_200th;
  v_f64 farthest;
  v_f64 left;  // how much less the difference is than the greatest relative one so far; below 0 if it may be more
} doubles_seen;

INLINE void see_doubles(doubles_seen* to, const double_fold* fold, SPACE const u8* a, SPACE const u8* b,
                        const double_source source) {
  const v_f64 relative_below = SPLAT(f64, fold->relative_below);
  const v_f64 rtol = SPLAT(f64, fold->tolerance.rtol), atol = SPLAT(f64, fold->tolerance.atol);
  const v_f64 by_1000 = SPLAT(f64, 1000), by_200 = SPLAT(f64, 200), none = SPLAT(f64, 0);
  const v_i64 of_a = SPLAT(i64, fold->tolerance.greater ? (i64)F64_SIZE : 0);
  doubles_seen seen;
  seen.of_both = seen.of_b = seen.steps = SPLAT(i64, 0);
  seen.differs = seen.equal = seen.outside = seen.under_1000th = seen.under_200th = SPLAT(u64, 0);
  seen.least = SPLAT(i64, (i64)F64_SIZE);
  seen.farthest = seen.left = none;
  ROLLED
  for (int i = 0; i < GROUP; i += LANES(f64)) {
    const v_u64 x = LOAD(u64, a + i * 8), y = LOAD(u64, b + i * 8);
    const v_i64 size_x = AS(i64, x & F64_SIZE), size_y = AS(i64, y & F64_SIZE);
    const v_i64 high = MAX(size_x, size_y), low = MIN(size_x, size_y);
    seen.of_both = MAX(seen.of_both, high);
    seen.of_b = MAX(seen.of_b, size_y);
    seen.least = MIN(seen.least, low);
    if (source.steps) {
      seen.steps = MAX(seen.steps, high - low);
      seen.differs |= x ^ y;
    }
    if (source.bits) {
      COUNT_INTO(u64, seen.equal, x == y);
    } else {
      COUNT_INTO(u64, seen.equal, AS(f64, x) == AS(f64, y));
    }
    const v_f64 d = AS(f64, AS(u64, AS(f64, x) - AS(f64, y)) & F64_SIZE);
    const v_f64 scale = AS(f64, MAX(size_y, size_x & of_a));
    const v_f64 bound = rtol * scale;
    const v_f64 left = MUL_ADD(relative_below, scale, -d);  // NaN for Inf times 0
    seen.farthest = LARGER(d, seen.farthest);
    seen.left = SMALLER(left, seen.left);
    COUNT_INTO(u64, seen.outside, d > atol + bound);
    // The least number replaces 0; only 0 is near to 0.
    const v_f64 least = AS(f64, MAX(size_y, SPLAT(i64, 1)));
    COUNT_INTO(u64, seen.under_1000th, MULTIPLY_SUBTRACT(by_1000, d, least) < none);
    COUNT_INTO(u64, seen.under_200th, MULTIPLY_SUBTRACT(by_200, d, least) < none);
  }
  *to = seen;
}

// The greatest number of steps in a group in which some signs differ.
NOINLINE u64 double_steps_across_zero(SPACE const u8* a, SPACE const u8* b) {
  v_u64 most = SPLAT(u64, 0);
  for (int i = 0; i < GROUP; i += LANES(u64)) {
    const v_u64 x = LOAD(u64, a + i * 8), y = LOAD(u64, b + i * 8);
    const v_u64 size_x = x & F64_SIZE, size_y = y & F64_SIZE, differ = AS(u64, AS(i64, x ^ y) >> 63);
    most = MAX(most, MAX(size_x, size_y) - ((MIN(size_x, size_y) ^ differ) - differ));
  }
  return (u64)MAX_LANE(u64, most);
}

// The smallest size of a group but 0.
NOINLINE i64 smallest_double_but_zero(SPACE const u8* a, SPACE const u8* b) {
  v_i64 least = SPLAT(i64, (i64)F64_SIZE);
  for (int i = 0; i < GROUP; i += LANES(u64)) {
    const v_u64 x = (LOAD(u64, a + i * 8) & F64_SIZE) - 1u, y = (LOAD(u64, b + i * 8) & F64_SIZE) - 1u;
    least = MIN(least, MIN(AS(i64, x & F64_SIZE), AS(i64, y & F64_SIZE)));  // 0 becomes the greatest
  }
  return MIN_LANE(i64, least) + 1;
}

// Finds the first element of a group that is outside of the tolerance.
NOINLINE void find_outside(const double_fold* fold, WORDS i64* partial, SPACE const u8* a, SPACE const u8* b,
                           u64 index) {
  for (int i = 0; i < GROUP; ++i) {
    const f64 x = LOAD_ONE(f64, a + i * 8), y = LOAD_ONE(f64, b + i * 8);
    const f64 bound = fold->tolerance.rtol * (fold->tolerance.greater ? MAX(fabs(x), fabs(y)) : fabs(y));
    if (!(fabs(x - y) > fold->tolerance.atol + bound)) continue;
    RAISE(partial[PAIR_FIRST_OUTSIDE], ~(i64)(index + (u64)i));
    return;
  }
}

// Compares each difference with the greatest ones so far.
NOINLINE void look_at_doubles(double_fold* fold, WORDS i64* partial, SPACE const u8* a, SPACE const u8* b, u64 index) {
  const v_f64 farthest = SPLAT(f64, fold->farthest), relative = SPLAT(f64, fold->relative);
  const v_u64 of_a = SPLAT(u64, fold->tolerance.greater ? F64_SIZE : 0);
  v_i64 is_farther = SPLAT(i64, 0);
  for (int i = 0; i < GROUP; i += LANES(f64)) {
    const v_f64 x = AS(f64, LOAD(u64, a + i * 8)), y = AS(f64, LOAD(u64, b + i * 8));
    const v_f64 d = AS(f64, AS(u64, x - y) & F64_SIZE);
    const v_f64 scale = AS(f64, MAX(AS(i64, AS(u64, y) & F64_SIZE), AS(i64, AS(u64, x) & of_a)));
    is_farther |= d > farthest;
    is_farther |= d / scale > relative;
  }
  if (!ANY(i64, is_farther)) return;
  for (int i = 0; i < GROUP; ++i) {
    const f64 x = LOAD_ONE(f64, a + i * 8), y = LOAD_ONE(f64, b + i * 8), d = fabs(x - y);
    const i64 place = ~(i64)(index + (u64)i);
    const f64 scale = fold->tolerance.greater ? MAX(fabs(x), fabs(y)) : fabs(y);
    if (d != 0) raise_distances(&fold->farthest, &fold->relative, partial, d, scale, place);
  }
  fold->relative_below = fold->relative < 0x1p-900 ? 0 : fold->relative * (1 - 0x1p-48);
}

// As take_specials_out() in fold_pair.h.
NOINLINE void take_double_specials_out(WORDS i64* partial, SPACE const u8* a, SPACE const u8* b, u64 index, u64* held_a,
                                       u64* held_b, const double_source source) {
  for (int i = 0; i < GROUP; ++i) {
    held_a[i] = LOAD_ONE(u64, a + i * 8);
    held_b[i] = LOAD_ONE(u64, b + i * 8);
    if ((i64)MAX(held_a[i] & F64_SIZE, held_b[i] & F64_SIZE) < F64_INF) continue;
    const i64 place = ~(i64)(index + (u64)i);
    number x, y;
    unpack_into_float64(&x, a + i * 8);
    unpack_into_float64(&y, b + i * 8);
    const int is_equal = lift_specials(partial, x, y, place);
    if (source.bits ? held_a[i] != held_b[i] : !is_equal) lift_unequal(partial, place);
    ADD(partial[PAIR_UNDER_1000TH], -1);
    ADD(partial[PAIR_UNDER_200TH], -1);
    held_a[i] = held_b[i] = 0;
  }
}

// Folds the GROUP elements at a and b.
INLINE void fold_group_of_doubles(double_fold* fold, WORDS i64* partial, SPACE const u8* a, SPACE const u8* b,
                                  u64 index, const pair_kind kind, const double_source source) {
  u64 held_a[GROUP], held_b[GROUP];
  doubles_seen seen;
  see_doubles(&seen, fold, a, b, source);
  i64 largest = MAX_LANE(i64, seen.of_both);
  if (UNLIKELY(largest >= F64_INF)) {
    take_double_specials_out(partial, a, b, index, held_a, held_b, source);
    a = (SPACE const u8*)held_a;
    b = (SPACE const u8*)held_b;
    see_doubles(&seen, fold, a, b, source);
    largest = MAX_LANE(i64, seen.of_both);
  }
  fold->peak = MAX(fold->peak, seen.of_b);
  fold->equal += seen.equal;
  fold->under_1000th += seen.under_1000th;
  fold->under_200th += seen.under_200th;
  ++fold->groups;
  if (source.steps) {
    if (ANY(i64, AS(i64, seen.differs) < 0)) {
      fold->steps_across = MAX(fold->steps_across, double_steps_across_zero(a, b));
    } else {
      fold->steps = MAX(fold->steps, seen.steps);
    }
  }
  if (UNLIKELY(!fold->has_unequal) && ADD_LANES(u64, seen.equal) != GROUP) {
    fold->has_unequal = 1;
    int first = 0;
    while (source.bits ? LOAD_ONE(u64, a + first * 8) == LOAD_ONE(u64, b + first * 8)
                       : LOAD_ONE(f64, a + first * 8) == LOAD_ONE(f64, b + first * 8)) {
      ++first;
    }
    RAISE(partial[PAIR_FIRST_UNEQUAL], ~(i64)(index + (u64)first));
  }
  if (largest == 0) return;
  const i64 outside = ADD_LANES(u64, seen.outside);
  if (outside != 0) {
    ADD(partial[PAIR_OUTSIDE], outside);
    if (partial[PAIR_FIRST_OUTSIDE] < ~(i64)index) find_outside(fold, partial, a, b, index);
  }
  i64 smallest = MIN_LANE(i64, seen.least);
  if (smallest == 0) smallest = smallest_double_but_zero(a, b);
  const f64 farthest = MAX_LANE(f64, seen.farthest);
  if (farthest > fold->farthest || (farthest > 0 && smallest < F64_PLAIN) || ANY(i64, seen.left < 0)) {
    look_at_doubles(fold, partial, a, b, index);
  }
  add_group_in_parts(&fold->sums, partial, a, b, smallest, largest, kind);
}
