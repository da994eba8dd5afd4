// A lane's tally of float64: precision/fold_double.h for a GPU, where a slice has one window and an
// element outside it is lifted alone. d is cut into hi and lo, whose products fma adds exactly; the sums of
// d, hi * hi, hi * lo and lo * lo are each kept in a high and a low part.
#define LO_BITS 27
// SPLIT of the widest addends, lo * lo, leaves LOG2_STEPS + SPAN = 24.
#define SPAN (24 - LOG2_STEPS)
#define SPLIT(bits) (LOG2_STEPS + (bits)-51)
#define SPARE_BINADES 2
#define SCALED_UNIT (-60)  // a window's unit after scaling, as a power of two
#define HAS_SUMS ((NEEDS & (NEED_SUM | NEED_SQUARES)) != 0)

// The four sums, each in a high and a low part: unit and bits of their addends.
enum { SUM, HI_HI, HI_LO, LO_LO, KINDS };
#define UNIT_OF(k) ((k) == HI_HI ? 2 * LO_BITS : (k) == HI_LO ? LO_BITS : 0)
#define BITS_OF(k)                                \
  ((k) == SUM     ? 53 + SPAN                     \
   : (k) == HI_HI ? 2 * (53 - LO_BITS + SPAN)     \
   : (k) == HI_LO ? 53 + 2 * SPAN                 \
                  : 2 * (LO_BITS + SPAN))
#define LOW_EXPONENT(k) ((k) == SUM ? SCALED_UNIT : 2 * SCALED_UNIT + UNIT_OF(k))
#define START(exponent) (((u64)(1023 + 52 + (exponent)) << 52) | ((u64)1 << 51))
#define LOW_START(k) START(LOW_EXPONENT(k))
#define HIGH_START(k) START(LOW_EXPONENT(k) + SPLIT(BITS_OF(k)))

typedef struct {
  u64 smallest, range;
  f64 scale;
  u32 unit;
} Window;

typedef struct {
  f64 high[KINDS], low[KINDS];
  i64 top, bottom;
  u32 zeros, negatives;
} Lane;

#define EXPONENT_OF(bits) exponent_of((u32)((bits) >> 52) & 0x7ff)
INLINE u32 exponent_of(u32 stored) { return stored == 0x7ff ? 0 : stored; }

INLINE void place(Window* window, i32 highest) {
  highest = MIN(highest + SPARE_BINADES, MAX_EXPONENT - 1);
  const i32 lowest = MAX(highest - SPAN, 1);
  const u64 largest = HAS_SUMS ? ((u64)(highest + 1) << 52) - 1 : (u64)INF_BITS - 1;
  // Subnormals stay outside where there are sums: their leading bits reach below hi's unit.
  window->smallest = HAS_SUMS ? (u64)lowest << 52 : 1;
  window->range = largest - window->smallest;
  window->unit = (u32)(lowest - 1);
  window->scale = as_double((u64)(1023 + SCALED_UNIT + 1074 - (lowest - 1)) << 52);
}

INLINE void open_lane(Lane* lane, const Window* window) {
  (void)window;
#pragma unroll
  for (int k = 0; k < KINDS; ++k) {
    lane->high[k] = as_double(HIGH_START(k));
    lane->low[k] = as_double(LOW_START(k));
  }
  lane->top = ~(i64)MAGNITUDE_MASK;
  lane->bottom = (i64)MAGNITUDE_MASK;
  lane->zeros = lane->negatives = 0;
}

// Adds the exact a * b to sum k, in two parts.
INLINE void split_product(Lane* lane, int k, f64 a, f64 b) {
  const f64 raised = fma(a, b, lane->high[k]);
  const f64 taken = raised - lane->high[k];
  lane->high[k] = raised;
  lane->low[k] += fma(a, b, -taken);
}

INLINE void take(Lane* lane, const Window* window, local i64* partial, UBITS bits) {
  const u64 magnitude = bits & MAGNITUDE_MASK;
  if (magnitude - window->smallest > window->range && magnitude != 0) {
    lift_one(partial, bits);
    return;
  }
  const i64 stored = (i64)bits;
  const i64 key = stored ^ ((stored >> 63) & (i64)MAGNITUDE_MASK);
  lane->top = max(lane->top, key);
  lane->bottom = min(lane->bottom, key);
  if (NEEDS & NEED_SIGNS) {
    lane->zeros += magnitude == 0;
    lane->negatives += key < -1;
  }
  if (!HAS_SUMS) return;
  const f64 d = as_double(bits) * window->scale;
  if (NEEDS & NEED_SUM) {
    const f64 raised = d + lane->high[SUM];
    lane->low[SUM] += d - (raised - lane->high[SUM]);
    lane->high[SUM] = raised;
  }
  if (NEEDS & NEED_SQUARES) {
    const f64 hi = as_double(as_ulong(d) & ~(((u64)1 << LO_BITS) - 1)), lo = d - hi;
    split_product(lane, HI_HI, hi, hi);
    split_product(lane, HI_LO, hi, lo);
    split_product(lane, LO_LO, lo, lo);
  }
}

#define SUMS (2 * KINDS)
INLINE i64 sum_of(const Lane* lane, const Window* window, int k) {
  (void)window;
  return k < KINDS ? as_long(lane->high[k]) - (i64)HIGH_START(k)
                   : as_long(lane->low[k - KINDS]) - (i64)LOW_START(k - KINDS);
}

INLINE void deposit_sums(local i64* partial, const Window* window, const i64* sums) {
#pragma unroll
  for (int k = 0; k < KINDS; ++k) {
    if ((NEEDS & (k == SUM ? NEED_SUM : NEED_SQUARES)) == 0) continue;
    local i64* words = partial + (k == SUM ? (int)PARTIAL_SUM : (int)SQUARES);
    // hi * lo counts twice in the square
    const u32 unit = k == SUM ? window->unit : 2 * window->unit + UNIT_OF(k) + (k == HI_LO ? 1 : 0);
    deposit(words, sums[k], unit + SPLIT(BITS_OF(k)));
    deposit(words, sums[KINDS + k], unit);
  }
}
