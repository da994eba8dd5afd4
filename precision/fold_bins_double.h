// Bins for the rounds of float64 that no window holds: fold_bins.h for 53-bit mantissas. One text for C++
// and OpenCL C, included once a dtype.
//
// A bin takes four exponents, so that all of them stay in the nearest cache. It holds the sum of mantissas,
// shifted to its lowest exponent, in a lower and an upper half that carry nothing to each other, and the
// 128-bit sum of their squares.
#define BIN_COPIES 2
#define BINS 512
#define BIN_OF(exponent) (MAX((exponent)-1, 0) >> 2)
// Elements until the bins are emptied: 2^16 squares of 2 * (53 + 3) bits fit 128.
#define BIN_ELEMENTS (BIN_COPIES * 65536 - GROUP)

typedef struct {
  u64 low, square_low, square_high;
  i64 high;  // counts 2^32
} NAME(bin);

typedef struct {
  NAME(bin) bins[BINS][BIN_COPIES];
  i32 first, last;  // no others are set
  u32 elements;     // 0: nothing above is set
} NAME(bins);

NOINLINE void NAME(flush_bins)(NAME(bins) * bins, WORDS i64* partial) {
  if (bins->elements == 0) return;
  for (i32 i = bins->first; i <= bins->last; ++i) {
    for (int copy = 0; copy < BIN_COPIES; ++copy) {
      const NAME(bin) bin = bins->bins[i][copy];
      if ((bin.square_low | bin.square_high) == 0) continue;
      deposit(partial + PARTIAL_SUM, (i64)bin.low, 4 * i);
      deposit(partial + PARTIAL_SUM, bin.high, 4 * i + 32);
      deposit_unsigned(partial + SQUARES, bin.square_low, 8 * i);
      deposit_unsigned(partial + SQUARES, bin.square_high, 8 * i + 64);
    }
  }
  bins->elements = 0;
}

INLINE void NAME(clear_bins)(NAME(bins) * bins, i32 first, i32 end) {
  const NAME(bin) empty = {0, 0, 0, 0};
  for (i32 i = first; i < end; ++i) {
    for (int copy = 0; copy < BIN_COPIES; ++copy) bins->bins[i][copy] = empty;
  }
}

INLINE void NAME(open_bins)(NAME(bins) * bins, i32 first, i32 last) {
  if (bins->elements == 0) {
    bins->first = first;
    bins->last = first - 1;
  }
  if (first < bins->first) {
    NAME(clear_bins)(bins, first, bins->first);
    bins->first = first;
  }
  if (last > bins->last) {
    NAME(clear_bins)(bins, bins->last + 1, last + 1);
    bins->last = last;
  }
}

// The sums of the finite ones of the `count` elements at p, whose exponents are these, those of zeros aside.
NOINLINE void NAME(bin_round)(NAME(bins) * bins, WORDS i64* partial, SPACE const u8* p, const int count,
                              i32 lowest, i32 highest) {
  NAME(open_bins)(bins, BIN_OF(lowest), BIN_OF(highest));
  const u64 first = (u64)bins->first, last = (u64)bins->last;
  // Apart, so that the compiler may do this part in vectors.
  u64 places[GROUP];
  i64 mantissas[GROUP];
  for (int i = 0; i < count; ++i) {
    const u64 bits = LOAD_ONE(u64, p + i * 8), magnitude = bits & MAGNITUDE_MASK;
    const u64 fraction = magnitude & (((u64)1 << 52) - 1);
    const i64 exponent = (i64)(magnitude >> 52);
    const u64 position = (u64)(exponent - (exponent != 0));
    const u64 mantissa = fraction | (exponent != 0 ? (u64)1 << 52 : 0);
    const i64 shifted = (i64)(exponent < MAX_EXPONENT ? mantissa << (position & 3) : 0);
    places[i] = MIN(MAX(position >> 2, first), last);
    mantissas[i] = bits > MAGNITUDE_MASK ? -shifted : shifted;
  }
  for (int i = 0; i < count; i += BIN_COPIES) {
    for (int copy = 0; copy < BIN_COPIES; ++copy) {
      NAME(bin)* const bin = &bins->bins[places[i + copy]][copy];
      const i64 mantissa = mantissas[i + copy];
      bin->low += (u64)mantissa & 0xffffffff;
      bin->high += mantissa >> 32;
      ADD_SQUARE(bin->square_low, bin->square_high, mantissa);
    }
  }
  bins->elements += (u32)count;
  if (bins->elements > BIN_ELEMENTS) NAME(flush_bins)(bins, partial);
}
