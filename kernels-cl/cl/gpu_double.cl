// A lane's tally of float64. This is a second algorithm beside precision/fold/fold_double.h; both must agree with
// precision/lift/lift_double.h. d is cut into hi and lo, and fma adds their products exactly. Each linear sum of d, and the
// sums of hi * hi, hi * lo and lo * lo, has a high and a low part.
#define LO_BITS 27
// The widest addends are lo * lo. SPLIT of these leaves LOG2_STEPS + SPAN = 24.
#define SPLIT(bits) (LOG2_STEPS + (bits)-51)
#define SCALED_UNIT (-60)  // a window's unit after scaling, as a power of two

// The linear sums, then the sums of products. UNIT_OF and BITS_OF are the unit and the bits of their addends.
enum { HI_HI = LINEAR, HI_LO, LO_LO, KINDS };
#define IS_LINEAR(k) ((k) < LINEAR)
#define UNIT_OF(k) ((k) == HI_HI ? 2 * LO_BITS : (k) == HI_LO ? LO_BITS : 0)
#define BITS_OF(k)                            \
  (IS_LINEAR(k)   ? 53 + SPAN                 \
   : (k) == HI_HI ? 2 * (53 - LO_BITS + SPAN) \
   : (k) == HI_LO ? 53 + 2 * SPAN             \
                  : 2 * (LO_BITS + SPAN))
#define LOW_EXPONENT(k) (IS_LINEAR(k) ? SCALED_UNIT : 2 * SCALED_UNIT + UNIT_OF(k))
#define LOW_START(k) START(LOW_EXPONENT(k))
#define HIGH_START(k) START(LOW_EXPONENT(k) + SPLIT(BITS_OF(k)))
#define SCALE(window) as_double((u64)(1023 + SCALED_UNIT + 1074 - (i32)(window)->unit) << 52)

typedef struct {
  f64 high[KINDS], low[KINDS];
  f64 top, bottom;  // as numbers; the counts tell whether a zero is +0 or -0
  u32 zeros, negative_zeros, signs;
} Lane;

INLINE void open_lane(Lane* lane, const Window* window) {
  (void)window;
#pragma unroll
  for (int k = 0; k < KINDS; ++k) {
    lane->high[k] = as_double(HIGH_START(k));
    lane->low[k] = as_double(LOW_START(k));
  }
  lane->top = as_double((u64)INF_BITS | (u64)1 << 63);
  lane->bottom = as_double((u64)INF_BITS);
  lane->zeros = lane->negative_zeros = lane->signs = 0;
}

// Adds the exact a * b to sum k, in two parts.
INLINE void split_product(Lane* lane, int k, f64 a, f64 b) {
  const f64 raised = fma(a, b, lane->high[k]);
  const f64 taken = raised - lane->high[k];
  lane->high[k] = raised;
  lane->low[k] += fma(a, b, -taken);
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

INLINE void add_element(Lane* lane, const Window* window, UBITS bits) {
  const f64 x = as_double(bits);
  if (NEEDS & NEED_EXTREMA) {
    lane->top = x > lane->top ? x : lane->top;
    lane->bottom = x < lane->bottom ? x : lane->bottom;
  }
  if (NEEDS & (NEED_SIGNS | NEED_EXTREMA)) {
    const u32 sign = (u32)(bits >> 32) >> 31;
    lane->signs += sign;
    if (is_zero(bits)) {
      lane->zeros += 1;
      lane->negative_zeros += sign;
    }
  }
  if (!HAS_SUMS) return;
  const f64 d = x * SCALE(window);
#pragma unroll
  for (int sum = 0; sum < LINEAR; ++sum) {
    if (NEEDS & linear_need(sum)) split_value(lane, sum, linear_value(d, sum));
  }
  if (NEEDS & NEED_SQUARES) {
    const f64 hi = as_double(as_ulong(d) & ~(((u64)1 << LO_BITS) - 1)), lo = d - hi;
    split_product(lane, HI_HI, hi, hi);
    split_product(lane, HI_LO, hi, lo);
    split_product(lane, LO_LO, lo, lo);
  }
}

// Takes both elements, or neither if one is outside of the window.
INLINE bool take_vector(Lane* lane, const Window* window, uint4 vector) {
  const UBITS a = as_ulong(vector.xy), b = as_ulong(vector.zw);
  if (!(inside(window, a) & inside(window, b))) return false;
  add_element(lane, window, a);
  add_element(lane, window, b);
  return true;
}

INLINE bool take(Lane* lane, const Window* window, UBITS bits) {
  if (!inside(window, bits)) return false;
  add_element(lane, window, bits);
  return true;
}

// Of several zeros the highest is +0 if there is one, and the lowest is -0 if there is one.
INLINE i64 key_of(f64 x, bool negative_zero) {
  const i64 bits = as_long(x);
  if (x == 0) return negative_zero ? -1 : 0;
  return bits < 0 ? bits ^ (i64)MAGNITUDE_MASK : bits;  // as in lift_double.h
}

#define SUMS (2 * KINDS)
INLINE void close_lane(const Lane* lane, const Window* window, i64* tally) {
  (void)window;
  tally[TALLY_HIGHEST] = key_of(lane->top, lane->zeros == lane->negative_zeros);
  tally[TALLY_LOWEST] = ~key_of(lane->bottom, lane->negative_zeros != 0);
  tally[TALLY_ZEROS] = lane->zeros;
  tally[TALLY_NEGATIVES] = lane->signs - lane->negative_zeros;
#pragma unroll
  for (int k = 0; k < KINDS; ++k) {
    tally[TALLY_SUMS + k] = as_long(lane->high[k]) - (i64)HIGH_START(k);
    tally[TALLY_SUMS + KINDS + k] = as_long(lane->low[k]) - (i64)LOW_START(k);
  }
}

INLINE void deposit_sums(local i64* partial, const Window* window, const i64* sums) {
#pragma unroll
  for (int k = 0; k < KINDS; ++k) {
    if ((NEEDS & (IS_LINEAR(k) ? linear_need(k) : (int)NEED_SQUARES)) == 0) continue;
    local i64* words = partial + (IS_LINEAR(k) ? LINEAR_OFFSET(k) : (int)OFFSET(SQUARES));
    // hi * lo counts twice in the square
    const u32 unit = IS_LINEAR(k) ? window->unit : 2 * window->unit + UNIT_OF(k) + (k == HI_LO ? 1 : 0);
    deposit(words, sums[k], unit + SPLIT(BITS_OF(k)));
    deposit(words, sums[KINDS + k], unit);
  }
}
