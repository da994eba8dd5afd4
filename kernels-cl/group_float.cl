// A lane's tally of float16, bfloat16 and float32. precision/fold_windowed.h explains the sums and proves
// them exact; here a slice has one window, and an element outside it is lifted alone.
#define SPAN (51 - MANTISSA_BITS - LOG2_STEPS)
#define SPLIT (LOG2_STEPS + 2 * (SPAN + MANTISSA_BITS) - 51)
#define SPARE_BINADES 2  // above the sample that chose the window
#define HAS_SUMS ((NEEDS & (NEED_SUM | NEED_SQUARES)) != 0)

typedef struct {
  f64 sum, high, low;  // the starts: 1.5 * 2^52 units
  u32 smallest, range; // bits without the sign
  u32 unit;
} Window;

typedef struct {
  f64 sum, high, low;
  i32 top, bottom;
  u32 zeros, negatives;
} Lane;

// The stored exponent; 0 of NaN and Inf, which are no guide.
#define EXPONENT_OF(bits) exponent_of((u32)((bits) & MAGNITUDE_MASK) >> MANTISSA_SHIFT)
INLINE u32 exponent_of(u32 stored) { return stored == (u32)MAX_EXPONENT ? 0 : stored; }

INLINE f64 start(i32 exponent) { return AS_F64(((u64)(1023 + 52 + exponent) << 52) | ((u64)1 << 51)); }

INLINE void place(Window* window, i32 highest) {
  highest = MIN(highest + SPARE_BINADES, MAX_EXPONENT - 1);
  const i32 lowest = MAX(highest - SPAN, 1);
  const u32 largest = HAS_SUMS ? ((u32)(highest + 1) << MANTISSA_SHIFT) - 1 : (u32)INF_BITS - 1;
  window->smallest = !HAS_SUMS || (lowest == 1 && SUBNORMALS_CONVERT) ? 1 : (u32)lowest << MANTISSA_SHIFT;
  window->range = largest - window->smallest;
  window->unit = (u32)(lowest - 1 + FIRST_UNIT);
  const i32 exponent = (i32)window->unit + SUM_EXPONENT_Float;
  window->sum = start(exponent);
  window->high = start(2 * exponent + SPLIT);
  window->low = start(2 * exponent);
}

INLINE void open_lane(Lane* lane, const Window* window) {
  lane->sum = window->sum;
  lane->high = window->high;
  lane->low = window->low;
  lane->top = ~(i32)MAGNITUDE_MASK;
  lane->bottom = (i32)MAGNITUDE_MASK;
  lane->zeros = lane->negatives = 0;
}

// By the bits, so that no driver's handling of half or of subnormals has a say.
INLINE f64 value_float32(u32 bits) { return (f64)as_float(bits); }
INLINE f64 value_bfloat16(u32 bits) { return (f64)as_float(bits << 16); }
INLINE f64 value_float16(u32 bits) {
  const u32 high = (bits & 0x7fff) << 10 | (bits >> 15) << 31;
  return as_double((u64)high << 32) * 0x1p1008;
}

INLINE void take(Lane* lane, const Window* window, local i64* partial, UBITS element) {
  const u32 bits = element, magnitude = bits & MAGNITUDE_MASK;
  if (magnitude - window->smallest > window->range && magnitude != 0) {
    lift_one(partial, element);
    return;
  }
  const i32 stored = (SBITS)element;
  const i32 key = stored ^ ((stored >> 31) & (i32)MAGNITUDE_MASK);
  lane->top = max(lane->top, key);
  lane->bottom = min(lane->bottom, key);
  if (NEEDS & NEED_SIGNS) {
    lane->zeros += magnitude == 0;
    lane->negatives += key < -1;
  }
  if (!HAS_SUMS) return;
  const f64 d = NAME(value)(bits);
  if (NEEDS & NEED_SUM) lane->sum += d;
  if (NEEDS & NEED_SQUARES) {
    const f64 raised = fma(d, d, lane->high);
    const f64 taken = raised - lane->high;
    lane->high = raised;
    lane->low += fma(d, d, -taken);
  }
}

#define SUMS 3
INLINE i64 sum_of(const Lane* lane, const Window* window, int k) {
  if (k == 0) return as_long(lane->sum) - as_long(window->sum);
  if (k == 1) return as_long(lane->high) - as_long(window->high);
  return as_long(lane->low) - as_long(window->low);
}

INLINE void deposit_sums(local i64* partial, const Window* window, const i64* sums) {
  if (NEEDS & NEED_SUM) deposit(partial + PARTIAL_SUM, sums[0], window->unit);
  if (NEEDS & NEED_SQUARES) {
    deposit(partial + SQUARES, sums[1], 2 * window->unit + SPLIT);
    deposit(partial + SQUARES, sums[2], 2 * window->unit);
  }
}
