// The exact sums of two tensors' products and of their distances, for elements of up to 53 bits. As in
// fold/fold_double.h, the elements of a window are scaled to one exponent and cut into three parts. The parts are
// short, so their products need no splitting. One text for C++ and OpenCL C, included before fold_pair_sums.h. That
// text calls this one for groups that do not fit its windows.
//
// An element of the window is below 2^69 units: high * 2^46 + middle * 2^23 + low units. The cuts round to nearest, so
// high is at most 2^23 in size, and middle and low are at most 2^22. Each term below is then less than 2^47, and the 16
// that a lane takes in a round stay below 2^51.

#define F64_SIZE (((u64)1 << 63) - 1)  // the bits of |x|
#define PAIR_PART 23
#define PARTS_SPAN(mantissa) (3 * PAIR_PART - (mantissa))
#define PAIR_ROUND (LANES(f64) << 4 < GROUP ? LANES(f64) << 4 : GROUP)
#define PAIR_SCALED_UNIT (-60)  // of a window's elements after scaling, as a power of two
// The sum over all lanes of 2^9 rounds, each of 2^7 terms at most, stays in 63 bits.
#define PAIR_ROUNDS 512

// 1.5 * 2^(52 + exponent)
INLINE f64 pair_start(i32 exponent) { return AS_F64(((u64)(1023 + 52 + exponent) << 52) | ((u64)1 << 51)); }

// The terms. Products of a and b are summed by their weight; of a square's products each has its own sum, because those
// of two different parts count twice.
// clang-format off
enum {
  PARTS_LOW_LOW, PARTS_MIDDLE_LOW, PARTS_MIDDLE_MIDDLE, PARTS_HIGH_LOW, PARTS_HIGH_MIDDLE, PARTS_HIGH_HIGH,
  PARTS_OF_B = 6, PARTS_PRODUCTS = 12, PARTS_REST = 17, PARTS_HIGH, PAIR_TERMS
};
// clang-format on
// A term has the unit 2^PARTS_UNIT units or square units.
#define PARTS_UNIT_OF_SQUARE(k) (PAIR_PART * ((k) < PARTS_HIGH_LOW ? (k) : (k)-1))
#define PARTS_UNIT(k)                                            \
  ((k) < PARTS_OF_B       ? PARTS_UNIT_OF_SQUARE(k)              \
   : (k) < PARTS_PRODUCTS ? PARTS_UNIT_OF_SQUARE((k)-PARTS_OF_B) \
   : (k) < PARTS_REST     ? PAIR_PART * ((k)-PARTS_PRODUCTS)     \
                          : 2 * PAIR_PART * ((k)-PARTS_REST))
#define PARTS_TWICE_IN_SQUARE(k) ((k) == PARTS_MIDDLE_LOW || (k) == PARTS_HIGH_LOW || (k) == PARTS_HIGH_MIDDLE ? 1 : 0)
#define PARTS_TWICE(k) \
  ((k) < PARTS_OF_B ? PARTS_TWICE_IN_SQUARE(k) : (k) < PARTS_PRODUCTS ? PARTS_TWICE_IN_SQUARE((k)-PARTS_OF_B) : 0)
#define PARTS_POWER(k) ((k) < PARTS_REST ? 2 : 1)

typedef struct {
  v_i64 totals[PAIR_TERMS];
  f64 starts[PAIR_TERMS];
  u32 rounds;             // in the totals
  i64 smallest, largest;  // the bits of the sizes that the window holds; it always holds 0
  i64 longest;            // the bits of the largest size without a high part
  f64 scale;
  i32 unit;        // as a power of two
  i32 least_unit;  // of all elements
  i32 mantissa;    // bits of an element
} pair_parts;

INLINE void clear_pair_parts(pair_parts* sums) {
  for (int k = 0; k < PAIR_TERMS; ++k) sums->totals[k] = SPLAT(i64, 0);
  sums->rounds = 0;
}

// Places the window's upper end at binary64's exponent `highest`, or higher if no element needs its lower end.
INLINE void place_pair_parts(pair_parts* sums, i32 highest) {
  const i32 mantissa = sums->mantissa, span = PARTS_SPAN(mantissa);
  const i32 first = sums->least_unit + 1022 + mantissa;  // the least exponent of elements with all bits
  const i32 lowest = MAX(MIN(highest, 2046) - span, first);
  sums->unit = sums->least_unit + (lowest - first);
  sums->smallest = lowest == first ? 1 : (i64)lowest << 52;
  sums->largest = ((i64)(lowest + span + 1) << 52) - 1;
  sums->longest = lowest < mantissa ? 0 : ((i64)(lowest - mantissa + 2 * PAIR_PART) << 52) - 1;
  sums->scale = power_of_two(PAIR_SCALED_UNIT - sums->unit);
}

INLINE void open_pair_parts(pair_parts* sums, i32 least_unit, i32 mantissa) {
  for (int k = 0; k < PAIR_TERMS; ++k) {
    sums->starts[k] = pair_start(PARTS_POWER(k) * PAIR_SCALED_UNIT + PARTS_UNIT(k));
  }
  sums->least_unit = least_unit;
  sums->mantissa = mantissa;
  place_pair_parts(sums, 1023 + 3);  // holds data of unit size
  clear_pair_parts(sums);
}

NOINLINE void flush_pair_parts(pair_parts* sums, WORDS i64* partial, const pair_kind kind) {
  if (sums->rounds == 0) return;
  const u32 unit = (u32)(sums->unit - PAIR_UNIT(kind));
  for (int k = 0; k < PAIR_TERMS; ++k) {
    const int words = k < PARTS_OF_B       ? PAIR_OFFSET(kind, SQUARES_A)
                      : k < PARTS_PRODUCTS ? PAIR_OFFSET(kind, SQUARES_B)
                      : k < PARTS_REST     ? PAIR_OFFSET(kind, PRODUCTS)
                                           : PAIR_OFFSET(kind, DISTANCES);
    const u32 position = (u32)PARTS_POWER(k) * unit + (u32)(PARTS_UNIT(k) + PARTS_TWICE(k));
    deposit(partial + words, ADD_LANES(i64, sums->totals[k]), position);
  }
  clear_pair_parts(sums);
}

// An element in parts. rest is middle and low.
typedef struct {
  v_f64 high, rest, middle, low;
} parts_of_elements;

INLINE void cut_in_parts(parts_of_elements* to, v_f64 x, v_f64 scale, const int has_high) {
  const v_f64 cut_high = SPLAT(f64, pair_start(PAIR_SCALED_UNIT + 2 * PAIR_PART));
  const v_f64 cut_middle = SPLAT(f64, pair_start(PAIR_SCALED_UNIT + PAIR_PART));
  if (has_high) {
    const v_f64 scaled = x * scale;
    to->high = (scaled + cut_high) - cut_high;
    to->rest = scaled - to->high;
  } else {
    to->rest = x * scale;
  }
  to->middle = (to->rest + cut_middle) - cut_middle;
  to->low = to->rest - to->middle;
}

INLINE void add_squares_of_parts(v_f64* sums, const parts_of_elements x, const int has_high) {
  sums[PARTS_LOW_LOW] = MUL_ADD(x.low, x.low, sums[PARTS_LOW_LOW]);
  sums[PARTS_MIDDLE_LOW] = MUL_ADD(x.middle, x.low, sums[PARTS_MIDDLE_LOW]);
  sums[PARTS_MIDDLE_MIDDLE] = MUL_ADD(x.middle, x.middle, sums[PARTS_MIDDLE_MIDDLE]);
  if (!has_high) return;
  sums[PARTS_HIGH_LOW] = MUL_ADD(x.high, x.low, sums[PARTS_HIGH_LOW]);
  sums[PARTS_HIGH_MIDDLE] = MUL_ADD(x.high, x.middle, sums[PARTS_HIGH_MIDDLE]);
  sums[PARTS_HIGH_HIGH] = MUL_ADD(x.high, x.high, sums[PARTS_HIGH_HIGH]);
}

// Products of one weight are added to each other first: a chain of one addition is shorter than one of several.
INLINE void add_products_of_parts(v_f64* sums, const parts_of_elements x, const parts_of_elements y,
                                  const int has_high) {
  sums[PARTS_PRODUCTS] = MUL_ADD(x.low, y.low, sums[PARTS_PRODUCTS]);
  sums[PARTS_PRODUCTS + 1] += MUL_ADD(x.middle, y.low, x.low * y.middle);
  if (!has_high) {
    sums[PARTS_PRODUCTS + 2] = MUL_ADD(x.middle, y.middle, sums[PARTS_PRODUCTS + 2]);
    return;
  }
  sums[PARTS_PRODUCTS + 2] += MUL_ADD(x.middle, y.middle, MUL_ADD(x.high, y.low, x.low * y.high));
  sums[PARTS_PRODUCTS + 3] += MUL_ADD(x.high, y.middle, x.middle * y.high);
  sums[PARTS_PRODUCTS + 4] = MUL_ADD(x.high, y.high, sums[PARTS_PRODUCTS + 4]);
}

// Adds a GROUP that the window holds.
INLINE void add_parts(pair_parts* to, WORDS i64* partial, SPACE const u8* a, SPACE const u8* b, const pair_kind kind,
                      const int has_high) {
  const v_f64 scale = SPLAT(f64, to->scale);
  const v_u64 sign = SPLAT(u64, (u64)1 << 63);
  for (int first = 0; first < GROUP; first += PAIR_ROUND) {
    v_f64 sums[PAIR_TERMS];
    // GCC unrolls at most 16 times, so each time has two terms.
    UNROLL
    for (int k = 0; k < PAIR_TERMS; k += 2) {
      sums[k] = SPLAT(f64, to->starts[k]);
      if (k + 1 < PAIR_TERMS) sums[k + 1] = SPLAT(f64, to->starts[k + 1]);
    }
    ROLLED
    for (int i = first; i < first + PAIR_ROUND; i += LANES(f64)) {
      const v_f64 of_a = AS(f64, LOAD(u64, a + i * 8)), of_b = AS(f64, LOAD(u64, b + i * 8));
      parts_of_elements x, y;
      cut_in_parts(&x, of_a, scale, has_high);
      cut_in_parts(&y, of_b, scale, has_high);
      add_squares_of_parts(sums, x, has_high);
      add_squares_of_parts(sums + PARTS_OF_B, y, has_high);
      add_products_of_parts(sums, x, y, has_high);
      const v_u64 negative = AS(u64, of_a - of_b) & sign;  // the difference is rounded, but not its sign
      sums[PARTS_REST] += AS(f64, AS(u64, x.rest - y.rest) ^ negative);
      if (has_high) sums[PARTS_HIGH] += AS(f64, AS(u64, x.high - y.high) ^ negative);
    }
    UNROLL
    for (int k = 0; k < PAIR_TERMS; k += 2) {
      to->totals[k] += AS(i64, sums[k]) - AS_I64(to->starts[k]);
      if (k + 1 < PAIR_TERMS) to->totals[k + 1] += AS(i64, sums[k + 1]) - AS_I64(to->starts[k + 1]);
    }
    if (++to->rounds == PAIR_ROUNDS) flush_pair_parts(to, partial, kind);
  }
}

NOINLINE void add_all_parts(pair_parts* to, WORDS i64* partial, SPACE const u8* a, SPACE const u8* b,
                            const pair_kind kind) {
  add_parts(to, partial, a, b, kind, 1);
}
NOINLINE void add_short_parts(pair_parts* to, WORDS i64* partial, SPACE const u8* a, SPACE const u8* b,
                              const pair_kind kind) {
  add_parts(to, partial, a, b, kind, 0);
}

// Reads a finite binary64 as a number of the window's elements: its mantissa is as long, and its unit not below theirs.
INLINE void unpack_element(number* to, SPACE const u8* p, const pair_parts* sums) {
  unpack_into_float64(to, p);
  const i32 shift = MAX(53 - sums->mantissa, sums->least_unit - to->exponent);
  to->mantissa = shift < 64 ? to->mantissa >> shift : 0;  // drops zeros
  to->exponent += shift;
}

// Lifts the sums of the elements of a group that lie below the window, and adds the others.
NOINLINE void add_above_window(pair_parts* sums, WORDS i64* partial, SPACE const u8* a, SPACE const u8* b,
                               const pair_kind kind) {
  u64 held_a[GROUP], held_b[GROUP];
  for (int i = 0; i < GROUP; ++i) {
    held_a[i] = LOAD_ONE(u64, a + i * 8);
    held_b[i] = LOAD_ONE(u64, b + i * 8);
    const i64 size_a = (i64)(held_a[i] & F64_SIZE), size_b = (i64)(held_b[i] & F64_SIZE);
    if ((size_a == 0 || size_a >= sums->smallest) && (size_b == 0 || size_b >= sums->smallest)) continue;
    number x, y;
    unpack_element(&x, a + i * 8, sums);
    unpack_element(&y, b + i * 8, sums);
    lift_pair_sums(partial, x, y, kind);
    held_a[i] = held_b[i] = 0;
  }
  add_all_parts(sums, partial, (SPACE const u8*)held_a, (SPACE const u8*)held_b, kind);
}

// Adds the GROUP elements at a and b. All sizes but 0 lie between `smallest` and `largest`.
INLINE void add_group_in_parts(pair_parts* sums, WORDS i64* partial, SPACE const u8* a, SPACE const u8* b, i64 smallest,
                               i64 largest, const pair_kind kind) {
  if (UNLIKELY(smallest < sums->smallest || largest > sums->largest)) {
    const i32 highest = (i32)(largest >> 52) + 1;  // with a spare binade
    const int would_hold = (i32)(smallest >> 52) >= highest - PARTS_SPAN(sums->mantissa);
    if (would_hold || largest > sums->largest || largest < sums->smallest) {
      flush_pair_parts(sums, partial, kind);
      place_pair_parts(sums, highest);
    }
  }
  if (UNLIKELY(smallest < sums->smallest)) {
    add_above_window(sums, partial, a, b, kind);
  } else if (largest <= sums->longest) {
    add_short_parts(sums, partial, a, b, kind);
  } else {
    add_all_parts(sums, partial, a, b, kind);
  }
}
