// A lane's tally of float64. This is a second algorithm beside precision/fold/fold_double.h; both must agree with
// precision/lift/lift_double.h. A square is cut into the rounded d * d and its rounding error, which fma() gives exactly
// (TwoProductFMA of T. Ogita, S. M. Rump, S. Oishi, Accurate Sum and Dot Product, 2005). Each sum has a high and a low part.
#define SPLIT(bits) (LOG2_STEPS + (bits)-51)
#define SCALED_UNIT (-60)  // a window's unit after scaling, as a power of two

// The linear sums, the sum of rounded squares, and the sum of their rounding errors. UNIT_OF and BITS_OF are the unit and the
// bits of an addend. d is 0, or a multiple of 1 with 53 + SPAN bits and at least 2^52. So a rounded square is a multiple of
// 2^52, and its error is at most half a unit of its last place.
enum { ROUNDED = LINEAR, LACKING, KINDS };
#define IS_LINEAR(k) ((k) < LINEAR)
#define UNIT_OF(k) ((k) == ROUNDED ? 52 : 0)
#define BITS_OF(k) (IS_LINEAR(k) ? 53 + SPAN : (k) == ROUNDED ? 2 * (53 + SPAN) - 52 : 2 * (53 + SPAN) - 53)
#define LOW_EXPONENT(k) (IS_LINEAR(k) ? SCALED_UNIT : 2 * SCALED_UNIT + UNIT_OF(k))
#define LOW_START(k) START(LOW_EXPONENT(k))
#define HIGH_START(k) START(LOW_EXPONENT(k) + SPLIT(BITS_OF(k)))
#define SCALE(window) as_double((u64)(1023 + SCALED_UNIT + 1074 - (i32)(window)->unit) << 52)

typedef struct {
  f64 high[KINDS], low[KINDS];
  i64 flushed[2 * KINDS];
  f64 top, bottom;  // as numbers; the counts tell whether a zero is +0 or -0
  u32 zeros, negative_zeros, signs;
} Lane;

INLINE void start_sums(Lane* lane) {
#pragma unroll
  for (int k = 0; k < KINDS; ++k) {
    lane->high[k] = as_double(HIGH_START(k));
    lane->low[k] = as_double(LOW_START(k));
  }
}

INLINE void open_lane(Lane* lane, const Window* window) {
  (void)window;
  start_sums(lane);
#pragma unroll
  for (int k = 0; k < 2 * KINDS; ++k) lane->flushed[k] = 0;
  lane->top = as_double((u64)INF_BITS | (u64)1 << 63);
  lane->bottom = as_double((u64)INF_BITS);
  lane->zeros = lane->negative_zeros = lane->signs = 0;
}

INLINE void flush_lane(Lane* lane, const Window* window) {
  (void)window;
#pragma unroll
  for (int k = 0; k < KINDS; ++k) {
    lane->flushed[k] += as_long(lane->high[k]) - (i64)HIGH_START(k);
    lane->flushed[KINDS + k] += as_long(lane->low[k]) - (i64)LOW_START(k);
  }
  start_sums(lane);
}

// Adds d to sum k, in two parts.
INLINE void split_value(Lane* lane, int k, f64 d) {
  const f64 raised = d + lane->high[k];
  lane->low[k] += d - (raised - lane->high[k]);
  lane->high[k] = raised;
}

// A window's ends have lower halves of 0 or of ones, so the upper half of an element decides.
INLINE u32 upper_magnitude(UBITS bits) { return (u32)(bits >> 32) & 0x7fffffff; }
INLINE bool is_zero(UBITS bits) { return (upper_magnitude(bits) | (u32)bits) == 0; }
INLINE bool inside(const Window* window, UBITS bits) {
  const u32 first = (u32)(window->smallest >> 32), last = (u32)(window->largest >> 32);
  return (upper_magnitude(bits) - first <= last - first) | is_zero(bits);
}

INLINE void count_zero(Lane* lane, UBITS bits) {
  if (!is_zero(bits)) return;
  lane->zeros += 1;
  lane->negative_zeros += (u32)(bits >> 63);
}

// Adds an element of the window. Zeros are counted apart.
INLINE void add_element(Lane* lane, const Window* window, UBITS bits) {
  const f64 x = as_double(bits);
  if (NEEDS & NEED_EXTREMA) {
    lane->top = x > lane->top ? x : lane->top;
    lane->bottom = x < lane->bottom ? x : lane->bottom;
  }
  if (NEEDS & (NEED_SIGNS | NEED_EXTREMA)) lane->signs += (u32)(bits >> 32) >> 31;
  if (!HAS_SUMS) return;
  const f64 d = x * SCALE(window);
#pragma unroll
  for (int sum = 0; sum < LINEAR; ++sum) {
    if (NEEDS & linear_need(sum)) split_value(lane, sum, linear_value(d, sum));
  }
  if (NEEDS & NEED_SQUARES) {
    const f64 rounded = d * d;
    split_value(lane, ROUNDED, rounded);
    split_value(lane, LACKING, fma(d, d, -rounded));
  }
}

INLINE bool take(Lane* lane, const Window* window, UBITS bits) {
  if (!inside(window, bits)) return false;
  count_zero(lane, bits);
  add_element(lane, window, bits);
  return true;
}

INLINE bool take_vector(Lane* lane, const Window* window, uint4 vector) {
  const UBITS a = as_ulong(vector.xy), b = as_ulong(vector.zw);
  if (!(inside(window, a) & inside(window, b))) return false;
  return take(lane, window, a) & take(lane, window, b);
}

// The upper halves of the smallest and of the largest magnitude decide, unless a small one may be a zero.
INLINE u32 take_step(Lane* lane, const Window* window, const uint4* vectors) {
  u32 nearest = 0x7fffffff, farthest = 0;
#pragma unroll
  for (u32 k = 0; k < LOADS; ++k) {
    const u32 a = vectors[k].y & 0x7fffffff, b = vectors[k].w & 0x7fffffff;
    nearest = min(nearest, min(a, b));
    farthest = max(farthest, max(a, b));
  }
  bool are_inside = farthest <= (u32)(window->largest >> 32);
  if (nearest < max((u32)(window->smallest >> 32), 1u)) {
#pragma unroll
    for (u32 k = 0; k < LOADS; ++k) {
      are_inside &= inside(window, as_ulong(vectors[k].xy)) & inside(window, as_ulong(vectors[k].zw));
    }
    if (are_inside) {
#pragma unroll
      for (u32 k = 0; k < LOADS; ++k) {
        count_zero(lane, as_ulong(vectors[k].xy));
        count_zero(lane, as_ulong(vectors[k].zw));
      }
    }
  }
  if (!are_inside) return (1u << LOADS) - 1;
#pragma unroll
  for (u32 k = 0; k < LOADS; ++k) {
    add_element(lane, window, as_ulong(vectors[k].xy));
    add_element(lane, window, as_ulong(vectors[k].zw));
  }
  return 0;
}

// Of several zeros the highest is +0 if there is one, and the lowest is -0 if there is one.
INLINE i64 key_of(f64 x, bool negative_zero) {
  const i64 bits = as_long(x);
  if (x == 0) return negative_zero ? -1 : 0;
  return bits < 0 ? bits ^ (i64)MAGNITUDE_MASK : bits;  // as in lift_double.h
}

#define SUMS (2 * KINDS)
INLINE void close_lane(Lane* lane, const Window* window, i64* tally) {
  flush_lane(lane, window);
  tally[TALLY_HIGHEST] = key_of(lane->top, lane->zeros == lane->negative_zeros);
  tally[TALLY_LOWEST] = ~key_of(lane->bottom, lane->negative_zeros != 0);
  tally[TALLY_ZEROS] = lane->zeros;
  tally[TALLY_NEGATIVES] = lane->signs - lane->negative_zeros;
#pragma unroll
  for (int k = 0; k < 2 * KINDS; ++k) tally[TALLY_SUMS + k] = lane->flushed[k];
}

INLINE void deposit_sums(local i64* partial, const Window* window, const i64* sums) {
#pragma unroll
  for (int k = 0; k < KINDS; ++k) {
    if ((NEEDS & (IS_LINEAR(k) ? linear_need(k) : (int)NEED_SQUARES)) == 0) continue;
    local i64* words = partial + (IS_LINEAR(k) ? LINEAR_OFFSET(k) : (int)OFFSET(SQUARES));
    const u32 unit = IS_LINEAR(k) ? window->unit : 2 * window->unit + UNIT_OF(k);
    deposit(words, sums[k], unit + SPLIT(BITS_OF(k)));
    deposit(words, sums[KINDS + k], unit);
  }
}
