// A lane's tally of float16, bfloat16 and float32. This is a second algorithm beside precision/fold/fold_windowed.h, which
// explains the sums and proves that they are exact; both must agree with precision/lift/lift_float.h. Elements of 16 bits
// are compared and counted two at a time. Zeros cost instructions only in steps that have some.
#define HALVES ((bool)(sizeof(UBITS) == 2))
#define SPLIT (LOG2_STEPS + 2 * (SPAN + MANTISSA_BITS) - 51)
#define LOG2_OF_UNIT(unit) ((i32)(unit) + SUM_EXPONENT_Float)
#define SUM_START(window) START(LOG2_OF_UNIT((window)->unit))
#define HIGH_START(window) START(2 * LOG2_OF_UNIT((window)->unit) + SPLIT)
#define LOW_START(window) START(2 * LOG2_OF_UNIT((window)->unit))
// The sum of four short squares stays below the next power of two.
#define SHORT_START(window) ((u64)(1023 + 52 + 2 * LOG2_OF_UNIT((window)->short_unit)) << 52)
#define NO_MAGNITUDE (HALVES ? ~SIGNS_16 : 0x7fffffffu)  // not below any

// Bounds of the stored bits: the largest as signed and as unsigned numbers, and the smallest magnitude. `highest` and
// `lowest` in close_lane() follow from these.
typedef struct {
  u32 signed_max, unsigned_max, nearest;
} Bounds;

// `squares` needs no flush: it holds the squares of 2^14 elements.
typedef struct {
  f64 linear[LINEAR], high, low;
  i64 flushed[LINEAR + 2];
  u64 squares;  // the short ones
  Bounds bounds;
  u32 count, zeros, negatives;
} Lane;

INLINE void start_sums(Lane* lane, const Window* window) {
#pragma unroll
  for (int sum = 0; sum < LINEAR; ++sum) lane->linear[sum] = as_double(SUM_START(window));
  lane->high = as_double(HIGH_START(window));
  lane->low = as_double(LOW_START(window));
}

INLINE void open_lane(Lane* lane, const Window* window) {
  start_sums(lane, window);
#pragma unroll
  for (int sum = 0; sum < LINEAR + 2; ++sum) lane->flushed[sum] = 0;
  lane->squares = 0;
  lane->bounds.signed_max = HALVES ? SIGNS_16 : 0x80000000u;
  lane->bounds.unsigned_max = 0;
  lane->bounds.nearest = NO_MAGNITUDE;
  lane->count = lane->zeros = lane->negatives = 0;
}

INLINE void flush_lane(Lane* lane, const Window* window) {
#pragma unroll
  for (int sum = 0; sum < LINEAR; ++sum) lane->flushed[sum] += as_long(lane->linear[sum]) - (i64)SUM_START(window);
  if (!IS_BFLOAT16) {
    lane->flushed[LINEAR] += as_long(lane->low) - (i64)LOW_START(window);
    lane->flushed[LINEAR + 1] += as_long(lane->high) - (i64)HIGH_START(window);
  }
  start_sums(lane, window);
}

INLINE u32 magnitude_of(u32 word) { return word & NO_MAGNITUDE; }
INLINE u32 nearer(u32 a, u32 b) { return HALVES ? min_u16x2(a, b) : min(a, b); }
INLINE bool none_below(u32 nearest, u32 smallest) {
  if (HALVES) return nearer(nearest, IN_EACH_16(smallest)) == IN_EACH_16(smallest);
  return nearest >= smallest;
}
// The magnitude of each element less 1. A zero gives the largest number.
INLINE u32 less_one(u32 word) {
  return HALVES ? nonzero_16(magnitude_of(word)) ^ SIGNS_16 : magnitude_of(word) - 1;
}

INLINE void widen(Bounds* bounds, const Bounds* by) {
  bounds->signed_max = HALVES ? max_i16x2(bounds->signed_max, by->signed_max)
                              : (u32)max((i32)bounds->signed_max, (i32)by->signed_max);
  bounds->unsigned_max = HALVES ? max_u16x2(bounds->unsigned_max, by->unsigned_max)
                                : max(bounds->unsigned_max, by->unsigned_max);
  bounds->nearest = nearer(bounds->nearest, by->nearest);
}
// Not as a returned structure: Oclgrind 21.10 does not know what LLVM then notes of its memory.
INLINE void set_bounds(Bounds* bounds, u32 word) {
  bounds->signed_max = bounds->unsigned_max = word;
  bounds->nearest = magnitude_of(word);
}

INLINE bool none_above(const Bounds* bounds, u32 most) {
  if (HALVES) {
    const u32 largest = IN_EACH_16(most);
    return (max_i16x2(bounds->signed_max, largest) == largest) &
           (max_u16x2(bounds->unsigned_max, largest | SIGNS_16) == (largest | SIGNS_16));
  }
  return ((i32)bounds->signed_max <= (i32)most) & (bounds->unsigned_max <= (most | 0x80000000u));
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

INLINE void add_value(Lane* lane, f64* short_squares, f64 d, const bool is_short) {
#pragma unroll
  for (int sum = 0; sum < LINEAR; ++sum) {
    if (NEEDS & linear_need(sum)) lane->linear[sum] += linear_value(d, sum);
  }
  if ((NEEDS & NEED_SQUARES) == 0) return;
  if (is_short) {
    *short_squares = fma(d, d, *short_squares);
  } else {
    const f64 raised = fma(d, d, lane->high);
    const f64 taken = raised - lane->high;
    lane->high = raised;
    lane->low += fma(d, d, -taken);
  }
}

#define TAKEN_WORDS 4
#define OF_WORDS(name) name##_of_vector
#include "kernels-cl/cl/gpu_float_words.cl"
#undef TAKEN_WORDS
#undef OF_WORDS
#define TAKEN_WORDS (4 * (int)LOADS)
#define OF_WORDS(name) name##_of_step
#include "kernels-cl/cl/gpu_float_words.cl"

INLINE bool take_vector_between(Lane* lane, const Window* window, uint4 vector, const u32 smallest, const u32 largest,
                                const bool is_short) {
  const u32 words[4] = {vector.x, vector.y, vector.z, vector.w};
  return take_words_of_vector(lane, window, words, smallest, largest, is_short);
}

// A step of float16 has an element outside of the short window more often than a vector has, so each vector is looked at.
INLINE u32 take_short_vectors(Lane* lane, const Window* window, const uint4* vectors) {
  const u32 smallest = window->short_smallest, largest = window->short_largest;
  u32 refused = 0;
#pragma unroll
  for (u32 k = 0; k < LOADS; ++k) {
    if (!take_vector_between(lane, window, vectors[k], smallest, largest, true)) refused |= 1u << k;
  }
  return refused;
}

INLINE u32 take_step(Lane* lane, const Window* window, const uint4* vectors) {
  if (IS_FLOAT16) return take_short_vectors(lane, window, vectors);
  u32 words[TAKEN_WORDS];
#pragma unroll
  for (int k = 0; k < (int)LOADS; ++k) {
    words[4 * k] = vectors[k].x;
    words[4 * k + 1] = vectors[k].y;
    words[4 * k + 2] = vectors[k].z;
    words[4 * k + 3] = vectors[k].w;
  }
  return take_words_of_step(lane, window, words, window->smallest, window->largest, IS_BFLOAT16) ? 0 : (1u << LOADS) - 1;
}

INLINE bool take_vector(Lane* lane, const Window* window, uint4 vector) {
  return take_vector_between(lane, window, vector, window->smallest, window->largest, IS_BFLOAT16);
}

INLINE bool take(Lane* lane, const Window* window, UBITS element) {
  const u32 magnitude = element & MAGNITUDE_MASK;
  if (magnitude != 0 && (magnitude < window->smallest || magnitude > window->largest)) return false;
  Bounds bounds;
  set_bounds(&bounds, HALVES ? IN_EACH_16((u32)element) : element);
  widen(&lane->bounds, &bounds);
  lane->count += 1;
  lane->zeros += magnitude == 0;
  lane->negatives += magnitude != 0 && (SBITS)element < 0;
  if (!HAS_SUMS) return true;
  f64 low, high, squares = as_double(SHORT_START(window));
  NAME(values)((u32)element, &low, &high);
  add_value(lane, &squares, low, IS_BFLOAT16);
  if (IS_BFLOAT16) lane->squares += as_ulong(squares) - SHORT_START(window);
  return true;
}

// The sums of squares: the low and the high parts, then the lower and the upper halves of the short ones.
#define SUMS (LINEAR + (HAS_SHORT_SQUARES ? 4 : 2))
INLINE void close_lane(Lane* lane, const Window* window, i64* tally) {
  const Bounds* all = &lane->bounds;
  const i32 signed_max =
      HALVES ? max((i32)(SBITS)all->signed_max, (i32)(SBITS)(all->signed_max >> 16)) : (i32)all->signed_max;
  const u32 unsigned_max = HALVES ? max(all->unsigned_max & 0xffff, all->unsigned_max >> 16) : all->unsigned_max;
  const u32 nearest = HALVES ? min(all->nearest & 0xffff, all->nearest >> 16) : all->nearest;
  const i64 flip = (i64)MAGNITUDE_MASK;
  // If no element is +0 or above, the highest is the negative one with the smallest magnitude. The lowest is found alike.
  const i64 highest = signed_max >= 0 ? (i64)signed_max : ~(i64)nearest;
  const i64 lowest = (SBITS)unsigned_max < 0 ? (i64)(SBITS)unsigned_max ^ flip : (i64)nearest;
  const bool any = lane->count != 0;
  tally[TALLY_HIGHEST] = any ? highest : ~flip;
  tally[TALLY_LOWEST] = ~(any ? lowest : flip);
  tally[TALLY_ZEROS] = lane->zeros;
  tally[TALLY_NEGATIVES] = lane->negatives;
  flush_lane(lane, window);
#pragma unroll
  for (int sum = 0; sum < LINEAR + 2; ++sum) tally[TALLY_SUMS + sum] = lane->flushed[sum];
  if (HAS_SHORT_SQUARES) {
    tally[TALLY_SUMS + LINEAR + 2] = (i64)(lane->squares & 0xffffffff);
    tally[TALLY_SUMS + LINEAR + 3] = (i64)(lane->squares >> 32);
  }
}

INLINE void deposit_sums(local i64* partial, const Window* window, const i64* sums) {
#pragma unroll
  for (int sum = 0; sum < LINEAR; ++sum) {
    if (NEEDS & linear_need(sum)) deposit(partial + LINEAR_OFFSET(sum), sums[sum], window->unit);
  }
  if ((NEEDS & NEED_SQUARES) == 0) return;
  if (!IS_BFLOAT16) {
    deposit(partial + OFFSET(SQUARES), sums[LINEAR], 2 * window->unit);
    deposit(partial + OFFSET(SQUARES), sums[LINEAR + 1], 2 * window->unit + SPLIT);
  }
  if (HAS_SHORT_SQUARES) {
    deposit(partial + OFFSET(SQUARES), sums[LINEAR + 2], 2 * window->short_unit);
    deposit(partial + OFFSET(SQUARES), sums[LINEAR + 3], 2 * window->short_unit + 32);
  }
}
