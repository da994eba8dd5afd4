// Bins for the rounds of float64 that no window holds: fold_bins.h for mantissas of 53 bits. One text for C++ and
// OpenCL C, included once for each dtype.
//
// A bin takes four exponents, so that all bins stay in the nearest cache. It holds the sum of mantissas, shifted to the
// lowest of its exponents, as two halves without a carry between them, and the 128-bit sum of their squares. Neighbours
// go to different copies, so that an addition seldom waits for the one before.
#define BIN_COPIES_DOUBLE 2
#define BIN_WORDS 2048  // four for each bin, so the index of a bin's first word is its lowest exponent
#define BIN_OF(exponent) ((MAX(exponent, 1) - 1) & ~3)
enum { BIN_LOW, BIN_SQUARE_LOW, BIN_SQUARE_HIGH, BIN_HIGH };
// The number of elements until the bins are emptied: 2^16 squares of 2 * (53 + 3) bits fit into 128 bits.
#define BIN_ELEMENTS_DOUBLE (BIN_COPIES_DOUBLE * 65536 - GROUP)

typedef struct {
  u64 words[BIN_COPIES_DOUBLE][BIN_WORDS];
  i32 first, end;  // only these words are in use, and the bins of zeros and of NaN and Inf
  u32 elements;    // 0: the bins are not cleared yet
} Bins;

// Empties the bins of a linear sum. The bins of SUM also hold the squares.
NOINLINE void flush_bins(Bins* bins, WORDS i64* partial, const int sum) {
  if (bins->elements == 0) return;
  for (u32 i = (u32)bins->first; i < (u32)bins->end; i += 4) {
    u64 low = 0, high = 0, squares[4] = {0, 0, 0, 0};  // 32 bits each, so that the sum over copies does not overflow
    for (int copy = 0; copy < BIN_COPIES_DOUBLE; ++copy) {
      const u64* bin = bins->words[copy] + i;
      low += bin[BIN_LOW];
      high += bin[BIN_HIGH];
      squares[0] += (u32)bin[BIN_SQUARE_LOW];
      squares[1] += bin[BIN_SQUARE_LOW] >> 32;
      squares[2] += (u32)bin[BIN_SQUARE_HIGH];
      squares[3] += bin[BIN_SQUARE_HIGH] >> 32;
    }
    if ((squares[0] | squares[1] | squares[2] | squares[3]) == 0) continue;
    deposit(partial + LINEAR_OFFSET(sum), (i64)low, i);
    deposit(partial + LINEAR_OFFSET(sum), (i64)high, i + 32);
    if (sum != LINEAR_SUM) continue;
    for (u32 k = 0; k < 4; ++k) deposit(partial + OFFSET(SQUARES), (i64)squares[k], 2 * i + 32 * k);
  }
  bins->elements = 0;
}

INLINE void clear_bins(Bins* bins, i32 first, i32 end) {
  for (int copy = 0; copy < BIN_COPIES_DOUBLE; ++copy) {
    for (i32 i = first; i < end; ++i) bins->words[copy][i] = 0;
  }
}

// Clears the bins from the lowest to the highest of these exponents, unless they are in use.
INLINE void open_exponent_bins(Bins* bins, i32 lowest, i32 highest) {
  const i32 first = BIN_OF(lowest), end = BIN_OF(highest) + 4;
  if (bins->elements == 0) {
    clear_bins(bins, BIN_OF(0), BIN_OF(0) + 4);
    clear_bins(bins, BIN_OF(MAX_EXPONENT), BIN_OF(MAX_EXPONENT) + 4);
    bins->first = bins->end = first;
  }
  if (first < bins->first) {
    clear_bins(bins, first, bins->first);
    bins->first = first;
  }
  if (end > bins->end) {
    clear_bins(bins, bins->end, end);
    bins->end = end;
  }
}

// Adds the finite ones of the `count` elements at p to the bins of a linear sum. `lowest` and `highest` are the extreme
// exponents of the elements that are neither 0, NaN nor Inf.
NOINLINE void bin_round(Bins* bins, WORDS i64* partial, SPACE const u8* p, const int count, i32 lowest, i32 highest,
                        const int sum) {
  open_exponent_bins(bins, lowest, highest);
  i64 offsets[GROUP], mantissas[GROUP];
  for (int i = 0; i < count; i += LANES(i64)) {
    const v_i64 bits = LOAD(i64, p + i * 8), magnitude = bits & (i64)MAGNITUDE_MASK, is_below = bits >> 63;
    const v_i64 position = MAX(magnitude >> 52, SPLAT(i64, 1)) - (i64)1;
    const v_i64 mantissa = (magnitude - (position << 52)) << (position & (i64)3);
    v_i64 taken = magnitude < INF_BITS ? mantissa : SPLAT(i64, 0);
    if (linear_below(sum) == 0) taken &= ~is_below;
    if (linear_above(sum) == 0) taken &= is_below;
    if (linear_below(sum) > 0) taken = (taken ^ is_below) - is_below;
    STORE(i64, offsets + i, position & ~(i64)3);
    STORE(i64, mantissas + i, taken);
  }
  for (int i = 0; i < count; i += BIN_COPIES_DOUBLE) {
    UNROLL
    for (int copy = 0; copy < BIN_COPIES_DOUBLE; ++copy) {
      u64* const bin = bins->words[copy] + offsets[i + copy];
      const i64 mantissa = mantissas[i + copy];
      u64 square_low, square_high;
      SQUARE_WIDE(mantissa, square_low, square_high);
      bin[BIN_LOW] += (u32)mantissa;
      bin[BIN_HIGH] += (u64)(mantissa >> 32);
      const u64 low = bin[BIN_SQUARE_LOW] + square_low;
      bin[BIN_SQUARE_LOW] = low;
      bin[BIN_SQUARE_HIGH] += square_high + (low < square_low);
    }
  }
  bins->elements += (u32)count;
  if (bins->elements > BIN_ELEMENTS_DOUBLE) flush_bins(bins, partial, sum);
}
