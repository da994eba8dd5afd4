// The common part of all families' lanes. The sums of floats are exact for magnitudes in a window, which the first elements of
// the slice choose. An element outside of it is lifted by itself. Integers have no window.
#define HAS_SUMS ((bool)(NEEDS & NEED_EXACT))
#define LINEAR LINEAR_KEPT(NEEDS)  // the number of linear sums in a tally
#define HAS_WINDOW IS_FLOAT

typedef struct {
  UBITS smallest, largest;  // bits without the sign; zeros are always inside
  u32 unit;                 // of the smallest: 2^unit units of the partial
  // The part of the window where squares are so short that four are added without splitting; for bfloat16, all of it.
  u32 short_smallest, short_largest, short_unit;
} Window;

#if HAS_WINDOW
#define IS_DOUBLE ((bool)(sizeof(UBITS) == 8))
#define IS_BFLOAT16 ((bool)(MANTISSA_BITS == 8))
#define IS_FLOAT16 ((bool)(MANTISSA_BITS == 11))
// Four squares of elements that span so many binades need no splitting: they have 2 * 25 bits.
#define HAS_SHORT_SQUARES (IS_BFLOAT16 || IS_FLOAT16)
#define SHORT_SPAN (25 - MANTISSA_BITS)
// The number of binades that a window spans. The sum of 2^LOG2_STEPS elements stays within 2^51 units, as
// precision/fold/fold_windowed.h explains. For float64, so does the sum of the low parts' squares.
#define SPAN (IS_DOUBLE ? 24 - LOG2_STEPS : IS_BFLOAT16 ? SHORT_SPAN : 51 - MANTISSA_BITS - LOG2_STEPS)
// Whether the window holds all exponents of the dtype, as for float16.
#define HOLDS_ALL ((bool)(SPAN >= MAX_EXPONENT - 2))
// float16 is widened by its bits. The leading bits of a float64 subnormal may lie below the unit of the high part.
#define SUBNORMALS_FIT (!IS_DOUBLE && (HOLDS_ALL || SUBNORMALS_CONVERT))
#define SPARE_BINADES (HAS_SHORT_SQUARES ? 1 : 2)  // above the largest of the first elements

// The stored exponent. It is 0 for NaN and Inf, which must not choose a window.
INLINE u32 exponent_of(UBITS bits) {
  const u32 stored = (u32)((bits & MAGNITUDE_MASK) >> MANTISSA_SHIFT);
  return stored == (u32)MAX_EXPONENT ? 0 : stored;
}

// The smallest and the largest magnitude of the binades from `lowest` to `highest`.
INLINE UBITS smallest_of(const i32 lowest) {
  return lowest == 1 && SUBNORMALS_FIT ? 1 : (UBITS)((UBITS)lowest << MANTISSA_SHIFT);
}
INLINE UBITS largest_of(const i32 highest) { return (UBITS)(((UBITS)(highest + 1) << MANTISSA_SHIFT) - 1); }

INLINE void move_window(Window* window, i32 highest) {
  if (HAS_SHORT_SQUARES) {
    const i32 top = MIN(highest + SPARE_BINADES, MAX_EXPONENT - 1), bottom = MAX(top - SHORT_SPAN, 1);
    window->short_largest = HAS_SUMS ? (u32)largest_of(top) : (u32)(INF_BITS - 1);
    window->short_smallest = HAS_SUMS ? (u32)smallest_of(bottom) : 1;
    window->short_unit = (u32)(bottom - 1 + FIRST_UNIT);
  }
  highest = HOLDS_ALL ? MAX_EXPONENT - 1 : MIN(highest + SPARE_BINADES, MAX_EXPONENT - 1);
  const i32 lowest = MAX(highest - SPAN, 1);
  window->largest = HAS_SUMS ? largest_of(highest) : (UBITS)(INF_BITS - 1);
  window->smallest = HAS_SUMS ? smallest_of(lowest) : 1;
  window->unit = (u32)(lowest - 1 + FIRST_UNIT);
}
#endif

#ifdef FP64
// What d adds to a linear sum (precision/sums.h).
INLINE f64 linear_value(f64 d, int sum) {
  if (linear_above(sum) != 0 && linear_below(sum) > 0) return d;
  if (linear_above(sum) != 0 && linear_below(sum) < 0) return fabs(d);
  return linear_above(sum) != 0 ? fmax(d, 0.0) : linear_below(sum) * fmin(d, 0.0);
}
#endif

// Before a lane's sums could exceed 2^51 units they are added to integers. Beside its steps a lane takes fewer than 64 elements.
#if HAS_WINDOW
#define STEPS_A_FLUSH (((1u << LOG2_STEPS) - 64) / (LOADS * 16 / (u32)sizeof(UBITS)))
#define LOADS_AHEAD (sizeof(UBITS) == 4)  // where registers suffice for the loads of the next step
#endif

// 1.5 * 2^(52 + exponent): the start of a sum with the unit 2^exponent. The sum may become negative.
#define START(exponent) (((u64)(1023 + 52 + (exponent)) << 52) | ((u64)1 << 51))

// The words of a tally. As in a partial, the first two merge by maximum and the others by addition.
enum { TALLY_HIGHEST, TALLY_LOWEST, TALLY_ZEROS, TALLY_NEGATIVES, TALLY_SUMS };
