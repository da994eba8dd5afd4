// A lane's tally of float16, bfloat16 and float32. This is a second algorithm beside precision/fold/fold_windowed.h, which
// explains the sums and proves that they are exact; both must agree with precision/lift/lift_float.h. Elements of 16 bits
// are compared and counted two at a time.
#define HALVES ((bool)(sizeof(UBITS) == 2))
#define SPLIT (LOG2_STEPS + 2 * (SPAN + MANTISSA_BITS) - 51)
#define EXPONENT_OF_UNIT(window) ((i32)(window)->unit + SUM_EXPONENT_Float)
#define SUM_START(window) START(EXPONENT_OF_UNIT(window))
#define HIGH_START(window) START(2 * EXPONENT_OF_UNIT(window) + SPLIT)
#define LOW_START(window) START(2 * EXPONENT_OF_UNIT(window))
// The sum of four squares of 2 * (17 + 8) bits stays below the next power of two.
#define SHORT_START(window) ((u64)(1023 + 52 + 2 * EXPONENT_OF_UNIT(window)) << 52)

// Bounds of the stored bits: the largest as signed and as unsigned numbers, and the smallest as unsigned numbers. `highest`
// and `lowest` in close_lane() follow from these.
typedef struct {
  u32 signed_max, unsigned_max, unsigned_min;
} Bounds;

typedef struct {
  f64 linear[LINEAR], high, low;
  u64 squares;  // if SHORT_SQUARES
  Bounds bounds;
  u32 count, nonzeros, negatives;
} Lane;

INLINE void open_lane(Lane* lane, const Window* window) {
#pragma unroll
  for (int sum = 0; sum < LINEAR; ++sum) lane->linear[sum] = as_double(SUM_START(window));
  lane->high = as_double(HIGH_START(window));
  lane->low = as_double(LOW_START(window));
  lane->squares = 0;
  lane->bounds.signed_max = HALVES ? SIGNS_16 : 0x80000000u;
  lane->bounds.unsigned_max = 0;
  lane->bounds.unsigned_min = 0xffffffff;
  lane->count = lane->nonzeros = lane->negatives = 0;
}

INLINE void widen(Bounds* bounds, u32 word) {
  if (HALVES) {
    bounds->signed_max = max_i16x2(bounds->signed_max, word);
    bounds->unsigned_max = max_u16x2(bounds->unsigned_max, word);
    bounds->unsigned_min = min_u16x2(bounds->unsigned_min, word);
  } else {
    bounds->signed_max = (u32)max((i32)bounds->signed_max, (i32)word);
    bounds->unsigned_max = max(bounds->unsigned_max, word);
    bounds->unsigned_min = min(bounds->unsigned_min, word);
  }
}

// The magnitude of each element less 1. A zero gives the largest number: the largest signed one if elements have 16 bits,
// the largest unsigned one if they have 32.
INLINE u32 less_one(u32 word) { return HALVES ? nonzero_16(word & ~SIGNS_16) : (word & 0x7fffffff) - 1; }

INLINE bool all_inside(const Bounds* bounds, u32 smallest_less_one, const Window* window) {
  if (HALVES) {
    const u32 largest = IN_EACH_16(window->largest), smallest = IN_EACH_16(window->smallest + 0x7fffu);
    return (max_i16x2(bounds->signed_max, largest) == largest) &
           (max_u16x2(bounds->unsigned_max, largest | SIGNS_16) == (largest | SIGNS_16)) &
           (HOLDS_ALL || !HAS_SUMS || max_i16x2(smallest_less_one, smallest) == smallest_less_one);
  }
  return ((i32)bounds->signed_max <= (i32)window->largest) & (bounds->unsigned_max <= (window->largest | 0x80000000u)) &
         (smallest_less_one >= window->smallest - 1u);
}

// The values of the one or two elements in a word. They are made from the bits, because drivers may treat half differently.
// The result of the PTX instruction is defined.
INLINE void values_float32(u32 word, f64* low, f64* high) {
  *low = (f64)as_float(word);
  *high = 0;
}
INLINE void values_bfloat16(u32 word, f64* low, f64* high) {
  *low = (f64)as_float(word << 16);
  *high = (f64)as_float(word & 0xffff0000);
}
INLINE f64 value_of_half(u32 bits) {
  const u32 high = (bits & 0x7fff) << 10 | (bits & 0x8000) << 16;
  return as_double((u64)high << 32) * 0x1p1008;
}
INLINE void values_float16(u32 word, f64* low, f64* high) {
#if PTX
  float first, second;
  __asm__("{ .reg .b16 a, b; mov.b32 {a, b}, %2; cvt.f32.f16 %0, a; cvt.f32.f16 %1, b; }"
          : "=f"(first), "=f"(second)
          : "r"(word));
  *low = (f64)first;
  *high = (f64)second;
#else
  *low = value_of_half(word);
  *high = value_of_half(word >> 16);
#endif
}

INLINE void add_value(Lane* lane, f64* squares, f64 d) {
#pragma unroll
  for (int sum = 0; sum < LINEAR; ++sum) {
    if (NEEDS & linear_need(sum)) lane->linear[sum] += linear_value(d, sum);
  }
  if ((NEEDS & NEED_SQUARES) == 0) return;
  if (SHORT_SQUARES) {
    *squares = fma(d, d, *squares);
  } else {
    const f64 raised = fma(d, d, lane->high);
    const f64 taken = raised - lane->high;
    lane->high = raised;
    lane->low += fma(d, d, -taken);
  }
}

// Takes the whole vector, or nothing if an element is outside of the window.
INLINE bool take_vector(Lane* lane, const Window* window, uint4 vector) {
  const u32 words[4] = {vector.x, vector.y, vector.z, vector.w};
  Bounds bounds = lane->bounds;
  u32 less[4], smallest = HALVES ? ~SIGNS_16 : 0xffffffff;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    widen(&bounds, words[k]);
    less[k] = less_one(words[k]);
    smallest = HALVES ? min_i16x2(smallest, less[k]) : min(smallest, less[k]);
  }
  if (!all_inside(&bounds, smallest, window)) return false;
  lane->bounds = bounds;
  lane->count += 16 / (u32)sizeof(UBITS);
  f64 squares = as_double(SHORT_START(window));
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    if (NEEDS & NEED_SIGNS) {
      if (!HALVES) {
        lane->nonzeros += ~less[k] >> 31;
        lane->negatives += (words[k] & ~less[k]) >> 31;
      } else if (k % 2 == 1) {
        lane->nonzeros = count_signs_16(lane->nonzeros, less[k - 1], less[k]);
        lane->negatives = count_signs_16(lane->negatives, words[k - 1] & less[k - 1], words[k] & less[k]);
      }
    }
    if (!HAS_SUMS) continue;
    f64 low, high;
    NAME(values)(words[k], &low, &high);
    add_value(lane, &squares, low);
    if (HALVES) add_value(lane, &squares, high);
    if (SHORT_SQUARES && k % 2 == 1) {
      lane->squares += as_ulong(squares) - SHORT_START(window);
      squares = as_double(SHORT_START(window));
    }
  }
  return true;
}

// Takes one element, unless it is outside of the window.
INLINE bool take(Lane* lane, const Window* window, UBITS element) {
  const u32 magnitude = element & MAGNITUDE_MASK;
  if (magnitude != 0 && (magnitude < window->smallest || magnitude > window->largest)) return false;
  widen(&lane->bounds, HALVES ? IN_EACH_16((u32)element) : element);
  lane->count += 1;
  lane->nonzeros += magnitude != 0;
  lane->negatives += magnitude != 0 && (SBITS)element < 0;
  if (!HAS_SUMS) return true;
  f64 low, high, squares = as_double(SHORT_START(window));
  NAME(values)((u32)element, &low, &high);
  add_value(lane, &squares, low);
  lane->squares += as_ulong(squares) - SHORT_START(window);
  return true;
}

#define SUMS (LINEAR + 2)
INLINE void close_lane(const Lane* lane, const Window* window, i64* tally) {
  const Bounds* all = &lane->bounds;
  const i32 signed_max =
      HALVES ? max((i32)(SBITS)all->signed_max, (i32)(SBITS)(all->signed_max >> 16)) : (i32)all->signed_max;
  const u32 unsigned_max = HALVES ? max(all->unsigned_max & 0xffff, all->unsigned_max >> 16) : all->unsigned_max;
  const u32 unsigned_min = HALVES ? min(all->unsigned_min & 0xffff, all->unsigned_min >> 16) : all->unsigned_min;
  const i64 flip = (i64)MAGNITUDE_MASK;
  // If no element is +0 or above, the highest is the negative one with the smallest magnitude. The lowest is found alike.
  const i64 highest = signed_max >= 0 ? (i64)signed_max : (i64)(SBITS)unsigned_min ^ flip;
  const i64 lowest = (SBITS)unsigned_max < 0 ? (i64)(SBITS)unsigned_max ^ flip : (i64)unsigned_min;
  const bool any = unsigned_min <= unsigned_max;
  tally[TALLY_HIGHEST] = any ? highest : ~flip;
  tally[TALLY_LOWEST] = ~(any ? lowest : flip);
  tally[TALLY_ZEROS] = lane->count - lane->nonzeros;
  tally[TALLY_NEGATIVES] = lane->negatives;
  i64* sums = tally + TALLY_SUMS;
#pragma unroll
  for (int sum = 0; sum < LINEAR; ++sum) sums[sum] = as_long(lane->linear[sum]) - (i64)SUM_START(window);
  sums[LINEAR] = SHORT_SQUARES ? (i64)(lane->squares & 0xffffffff) : as_long(lane->low) - (i64)LOW_START(window);
  sums[LINEAR + 1] = SHORT_SQUARES ? (i64)(lane->squares >> 32) : as_long(lane->high) - (i64)HIGH_START(window);
}

INLINE void deposit_sums(local i64* partial, const Window* window, const i64* sums) {
#pragma unroll
  for (int sum = 0; sum < LINEAR; ++sum) {
    if (NEEDS & linear_need(sum)) deposit(partial + LINEAR_OFFSET(sum), sums[sum], window->unit);
  }
  if (NEEDS & NEED_SQUARES) {
    deposit(partial + OFFSET(SQUARES), sums[LINEAR], 2 * window->unit);
    deposit(partial + OFFSET(SQUARES), sums[LINEAR + 1], 2 * window->unit + (SHORT_SQUARES ? 32 : SPLIT));
  }
}
