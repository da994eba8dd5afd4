// What all families' lanes have in common. A float's sums are exact for magnitudes in a window, which a
// slice's first elements choose; an element outside is lifted alone. Integers have no window.
#define HAS_SUMS ((bool)(NEEDS & NEED_EXACT))
#define LINEAR LINEAR_KEPT(NEEDS)  // a tally's linear sums
#define HAS_WINDOW IS_FLOAT

typedef struct {
  UBITS smallest, largest;  // bits without the sign; zeros are always inside
  u32 unit;                 // of its smallest: 2^unit of the partial's
} Window;

#if HAS_WINDOW
#define IS_DOUBLE ((bool)(sizeof(UBITS) == 8))
// bfloat16's squares are short enough to be added whole, four at a time.
#define SHORT_SQUARES ((bool)(MANTISSA_BITS == 8))
// How many binades apart elements may lie. The sum of 2^LOG2_STEPS elements stays within 2^51 units, as
// precision/fold/fold_windowed.h explains; of float64, so does that of the low parts' squares.
#define SPAN (IS_DOUBLE ? 24 - LOG2_STEPS : SHORT_SQUARES ? 17 : 51 - MANTISSA_BITS - LOG2_STEPS)
// Whether that is every exponent there is, as it is of float16.
#define HOLDS_ALL ((bool)(SPAN >= MAX_EXPONENT - 2))
// float16 is widened by its bits; of float64, subnormals' leading bits reach below the high part's unit.
#define SUBNORMALS_FIT (!IS_DOUBLE && (HOLDS_ALL || SUBNORMALS_CONVERT))
#define SPARE_BINADES (SHORT_SQUARES ? 1 : 2)  // above the sample that chose the window

// The stored exponent; 0 of NaN and Inf, which are no guide.
INLINE u32 exponent_of(UBITS bits) {
  const u32 stored = (u32)((bits & MAGNITUDE_MASK) >> MANTISSA_SHIFT);
  return stored == (u32)MAX_EXPONENT ? 0 : stored;
}

INLINE void place(Window* window, i32 highest) {
  highest = HOLDS_ALL ? MAX_EXPONENT - 1 : MIN(highest + SPARE_BINADES, MAX_EXPONENT - 1);
  const i32 lowest = MAX(highest - SPAN, 1);
  window->largest = HAS_SUMS ? (UBITS)(((UBITS)(highest + 1) << MANTISSA_SHIFT) - 1) : (UBITS)(INF_BITS - 1);
  window->smallest = !HAS_SUMS || (lowest == 1 && SUBNORMALS_FIT) ? 1 : (UBITS)((UBITS)lowest << MANTISSA_SHIFT);
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

// 1.5 * 2^(52 + exponent): where a sum starts whose unit is 2^exponent, and that may be below 0.
#define START(exponent) (((u64)(1023 + 52 + (exponent)) << 52) | ((u64)1 << 51))

// A lane's tally: the first two words merge by maximum, the others by addition, as in a partial.
enum { TALLY_HIGHEST, TALLY_LOWEST, TALLY_ZEROS, TALLY_NEGATIVES, TALLY_SUMS };
