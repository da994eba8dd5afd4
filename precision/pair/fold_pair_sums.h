// The exact sums of two tensors' products and of their distances, in windows. fold/fold_windowed.h explains the
// windows, and precision/README.md proves them. The three sums of products are split as the sum of squares is there.
// One text for C++ and OpenCL C, included after fold_pair_parts.h and before fold_pair.h.

// A lane adds 2^PAIR_LOG2_STEPS elements between two flushes. |a - b| is one bit longer than an element
// (precision/README.md).
#define PAIR_LOG2_STEPS 9
#define PAIR_SPAN(mantissa) (51 - (mantissa) - 1 - PAIR_LOG2_STEPS)
#define PAIR_SPLIT(mantissa) (PAIR_LOG2_STEPS + 2 * (PAIR_SPAN(mantissa) + (mantissa)) - 51)
// In the narrow window, for short mantissas, the products of a group need no splitting.
#define PAIR_HAS_NARROW(mantissa) ((mantissa) <= 12)
#define PAIR_LOG2_IN_GROUP (LANES(f64) == 8 ? 4 : LANES(f64) == 4 ? 5 : 6)
#define PAIR_NARROW_SPAN(mantissa) ((51 - PAIR_LOG2_IN_GROUP) / 2 - (mantissa))
#define PAIR_NARROW_GROUPS 256

#define PAIR_OF_SINGLES {1, STEPS_NONE, 0}  // where the words lie; no dtype has 64 bits
#define F32_SIZE 0x7fffffffu  // the bits of |x|

enum { WORDS_PRODUCTS, WORDS_SQUARES_A, WORDS_SQUARES_B, PAIR_SQUARES };

typedef struct {
  u32 smallest, largest;  // the bits of the sizes that it holds; it always holds 0
  u32 unit;               // its unit is 2^unit units of the partial
} pair_window;

// The sums of all groups so far.
typedef struct {
  v_f64 high[PAIR_SQUARES], low[PAIR_SQUARES], distances;
  f64 high_start, low_start, distances_start;
  pair_window wide;
  u32 added;  // elements in a lane since the last flush
  v_i64 narrow_squares[PAIR_SQUARES], narrow_distances;
  f64 narrow_square_start, narrow_distances_start;
  pair_window narrow;
  u32 narrow_groups;
  pair_parts parts;  // of groups that the windows are too narrow for
  int has_parts;
} pair_sums;

// Makes a window with the upper end at the stored exponent `highest`.
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

INLINE void clear_pair_sums(pair_sums* sums) {
  for (int i = 0; i < PAIR_SQUARES; ++i) {
    sums->high[i] = SPLAT(f64, sums->high_start);
    sums->low[i] = SPLAT(f64, sums->low_start);
  }
  sums->distances = SPLAT(f64, sums->distances_start);
  sums->added = 0;
}

INLINE void clear_narrow_pair_sums(pair_sums* sums) {
  for (int i = 0; i < PAIR_SQUARES; ++i) sums->narrow_squares[i] = SPLAT(i64, 0);
  sums->narrow_distances = SPLAT(i64, 0);
  sums->narrow_groups = 0;
}

// The first words of the three sums of products, in order.
#define PAIR_OFFSET_OF(i)                                          \
  ((i) == WORDS_PRODUCTS    ? (int)PAIR_OFFSET_PRODUCTS_Float      \
   : (i) == WORDS_SQUARES_A ? (int)PAIR_OFFSET_SQUARES_A_Float     \
                            : (int)PAIR_OFFSET_SQUARES_B_Float)

NOINLINE void flush_pair(pair_sums* sums, WORDS i64* partial, const int mantissa) {
  if (sums->added != 0) {
    const u32 unit = sums->wide.unit;
    for (int i = 0; i < PAIR_SQUARES; ++i) {
      const v_i64 high = AS(i64, sums->high[i]) - AS_I64(sums->high_start);
      const v_i64 low = AS(i64, sums->low[i]) - AS_I64(sums->low_start);
      deposit(partial + PAIR_OFFSET_OF(i), ADD_LANES(i64, high), 2 * unit + (u32)PAIR_SPLIT(mantissa));
      deposit(partial + PAIR_OFFSET_OF(i), ADD_LANES(i64, low), 2 * unit);
    }
    const v_i64 distances = AS(i64, sums->distances) - AS_I64(sums->distances_start);
    deposit(partial + PAIR_OFFSET_DISTANCES_Float, ADD_LANES(i64, distances), unit);
  }
  clear_pair_sums(sums);
  if (sums->narrow_groups != 0) {
    for (int i = 0; i < PAIR_SQUARES; ++i) {
      deposit(partial + PAIR_OFFSET_OF(i), ADD_LANES(i64, sums->narrow_squares[i]), 2 * sums->narrow.unit);
    }
    deposit(partial + PAIR_OFFSET_DISTANCES_Float, ADD_LANES(i64, sums->narrow_distances), sums->narrow.unit);
  }
  clear_narrow_pair_sums(sums);
}

INLINE void close_pair_sums(pair_sums* sums, WORDS i64* partial, const int mantissa) {
  const pair_kind kind = PAIR_OF_SINGLES;
  flush_pair(sums, partial, mantissa);
  if (sums->has_parts) flush_pair_parts(&sums->parts, partial, kind);
}

INLINE void place_pair(pair_sums* sums, i32 highest, const int mantissa) {
  place_pair_window(&sums->wide, highest, PAIR_SPAN(mantissa), mantissa);
  const i32 exponent = (i32)sums->wide.unit + SUM_EXPONENT_Float;
  sums->high_start = pair_start(2 * exponent + PAIR_SPLIT(mantissa));
  sums->low_start = pair_start(2 * exponent);
  sums->distances_start = pair_start(exponent);
  clear_pair_sums(sums);
}

INLINE void place_narrow_pair(pair_sums* sums, i32 highest, const int mantissa) {
  place_pair_window(&sums->narrow, highest, PAIR_NARROW_SPAN(mantissa), mantissa);
  const i32 exponent = (i32)sums->narrow.unit + SUM_EXPONENT_Float;
  sums->narrow_square_start = pair_start(2 * exponent);
  sums->narrow_distances_start = pair_start(exponent);
  clear_narrow_pair_sums(sums);
}

INLINE void open_pair_sums(pair_sums* sums, const int mantissa) {
  place_pair(sums, 127 + 3, mantissa);  // holds data of unit size
  place_narrow_pair(sums, 127 + 3, mantissa);
  sums->has_parts = 0;
}

INLINE void add_wide_pair(pair_sums* sums, WORDS i64* partial, SPACE const u8* a, SPACE const u8* b,
                          const int mantissa) {
  const v_u64 size = SPLAT(u64, ((u64)1 << 63) - 1);
  // The compiler may keep these in registers. Two of each, used in turns, would be too many.
  v_f64 high[PAIR_SQUARES], low[PAIR_SQUARES], distances = sums->distances;
  for (int k = 0; k < PAIR_SQUARES; ++k) {
    high[k] = sums->high[k];
    low[k] = sums->low[k];
  }
  const v_f64 one = ONE;
  for (int i = 0; i < GROUP; i += LANES(f64)) {
    const v_f64 x = load_f64_float32(a + i * 4), y = load_f64_float32(b + i * 4);
    distances = ADD_F64(AS(f64, AS(u64, x - y) & size), one, distances);
    for (int k = 0; k < PAIR_SQUARES; ++k) {
      const v_f64 left = k == WORDS_SQUARES_B ? y : x, right = k == WORDS_SQUARES_A ? x : y;
      const v_f64 raised = MUL_ADD(left, right, high[k]);
      const v_f64 taken = raised - high[k];
      high[k] = raised;
      low[k] = ADD_F64(MUL_ADD(left, right, -taken), one, low[k]);
    }
  }
  for (int k = 0; k < PAIR_SQUARES; ++k) {
    sums->high[k] = high[k];
    sums->low[k] = low[k];
  }
  sums->distances = distances;
  sums->added += GROUP / LANES(f64);
  if (sums->added == 1 << PAIR_LOG2_STEPS) flush_pair(sums, partial, mantissa);
}

INLINE void add_narrow_pair(pair_sums* sums, WORDS i64* partial, SPACE const u8* a, SPACE const u8* b,
                            const int mantissa) {
  const v_u64 size = SPLAT(u64, ((u64)1 << 63) - 1);
  const v_f64 start = SPLAT(f64, sums->narrow_square_start);
  const v_f64 distances_start = SPLAT(f64, sums->narrow_distances_start), one = ONE;
  v_f64 products = start, squares_a = start, squares_b = start, distances = distances_start;
  for (int i = 0; i < GROUP; i += LANES(f64)) {
    const v_f64 x = load_f64_float32(a + i * 4), y = load_f64_float32(b + i * 4);
    products = MUL_ADD(x, y, products);
    squares_a = MUL_ADD(x, x, squares_a);
    squares_b = MUL_ADD(y, y, squares_b);
    distances = ADD_F64(AS(f64, AS(u64, x - y) & size), one, distances);
  }
  sums->narrow_squares[WORDS_PRODUCTS] += AS(i64, products) - AS(i64, start);
  sums->narrow_squares[WORDS_SQUARES_A] += AS(i64, squares_a) - AS(i64, start);
  sums->narrow_squares[WORDS_SQUARES_B] += AS(i64, squares_b) - AS(i64, start);
  sums->narrow_distances += AS(i64, distances) - AS(i64, distances_start);
  if (++sums->narrow_groups == PAIR_NARROW_GROUPS) flush_pair(sums, partial, mantissa);
}

// Adds a group that the present windows do not hold.
NOINLINE void settle_pair(pair_sums* sums, WORDS i64* partial, SPACE const u8* a, SPACE const u8* b, u32 smallest,
                          u32 largest, const int mantissa) {
  const i32 highest = MIN((i32)(largest >> 23) + 1, 254), exponent = (i32)(smallest >> 23);  // with a spare binade
  if (PAIR_HAS_NARROW(mantissa) && exponent >= MAX(highest - PAIR_NARROW_SPAN(mantissa), 1)) {
    flush_pair(sums, partial, mantissa);
    place_narrow_pair(sums, highest, mantissa);
    add_narrow_pair(sums, partial, a, b, mantissa);
    return;
  }
  const int would_hold = exponent >= highest - PAIR_SPAN(mantissa) || highest - PAIR_SPAN(mantissa) <= 1;
  if (!pair_window_holds(&sums->wide, smallest, largest) &&
      (would_hold || largest > sums->wide.largest || largest < sums->wide.smallest)) {
    flush_pair(sums, partial, mantissa);
    place_pair(sums, highest, mantissa);
  }
  if (pair_window_holds(&sums->wide, smallest, largest)) {
    add_wide_pair(sums, partial, a, b, mantissa);
    return;
  }
  if (!sums->has_parts) {
    open_pair_parts(&sums->parts, SUM_EXPONENT_Float, mantissa);
    sums->has_parts = 1;
  }
  const pair_kind kind = PAIR_OF_SINGLES;
  f64 wide_a[GROUP], wide_b[GROUP];
  for (int i = 0; i < GROUP; i += LANES(f64)) {
    STORE(f64, wide_a + i, load_f64_float32(a + i * 4));
    STORE(f64, wide_b + i, load_f64_float32(b + i * 4));
  }
  add_group_in_parts(&sums->parts, partial, (SPACE const u8*)wide_a, (SPACE const u8*)wide_b,
                     AS_I64((f64)AS_F32(smallest)), AS_I64((f64)AS_F32(largest)), kind);
}

// Adds the GROUP elements at a and b. All sizes but 0 lie between `smallest` and `largest`.
INLINE void add_pair_group(pair_sums* sums, WORDS i64* partial, SPACE const u8* a, SPACE const u8* b, u32 smallest,
                           u32 largest, const int mantissa) {
  if (PAIR_HAS_NARROW(mantissa) && pair_window_holds(&sums->narrow, smallest, largest)) {
    add_narrow_pair(sums, partial, a, b, mantissa);
  } else if (!PAIR_HAS_NARROW(mantissa) && pair_window_holds(&sums->wide, smallest, largest)) {
    add_wide_pair(sums, partial, a, b, mantissa);
  } else {
    settle_pair(sums, partial, a, b, smallest, largest, mantissa);
  }
}
