// Bins for the groups that no window holds: sums of mantissas and of their squares by stored exponent,
// as in Neal's "large superaccumulator" (arXiv:1505.05571). One text for C++ and OpenCL C, included once
// a dtype.
//
// An element costs two additions to memory whatever its exponent. Neighbours go to different copies, so
// that an addition seldom waits for the one before. NaN and Inf have an exponent of their own, whose bin
// nobody reads; they are counted beside.
#define BIN_COPIES 4
// Elements until the bins are emptied: 2^16 squares of 24 bits fit 64, and 16-bit counters do not overflow.
#define BIN_ELEMENTS (65536 - GROUP)

typedef struct {
  i64 sums[MAX_EXPONENT + 1][BIN_COPIES];
  u64 squares[MAX_EXPONENT + 1][BIN_COPIES];
  VECTOR_OF(SBITS) top, bottom;  // keys
  VECTOR_OF(UBITS) nans, positive_infs, negative_infs, zeros, negatives;
  u32 elements;  // 0: nothing above is set
} NAME(bins);

NOINLINE void NAME(flush_bins)(NAME(bins) * bins, WORDS i64* partial) {
  if (bins->elements == 0) return;
  for (u32 exponent = 0; exponent < (u32)MAX_EXPONENT; ++exponent) {
    i64 sum = 0;
    u64 square = 0;
    for (int copy = 0; copy < BIN_COPIES; ++copy) {
      sum += bins->sums[exponent][copy];
      square += bins->squares[exponent][copy];
    }
    if (square == 0) continue;
    const u32 position = MAX(exponent, 1u) - 1 + FIRST_UNIT;
    deposit(partial + PARTIAL_SUM, sum, position);
    deposit_unsigned(partial + SQUARES, square, 2 * position);
  }
  const SBITS top = MAX_LANE(SBITS, bins->top), bottom = MIN_LANE(SBITS, bins->bottom);
  if (top >= bottom) raise_extrema(partial, top, bottom);
  ADD(partial[PARTIAL_NANS], ADD_LANES(UBITS, bins->nans));
  ADD(partial[PARTIAL_POSITIVE_INFS], ADD_LANES(UBITS, bins->positive_infs));
  ADD(partial[PARTIAL_NEGATIVE_INFS], ADD_LANES(UBITS, bins->negative_infs));
  ADD(partial[PARTIAL_ZEROS], ADD_LANES(UBITS, bins->zeros));
  ADD(partial[PARTIAL_NEGATIVES], ADD_LANES(UBITS, bins->negatives));
  bins->elements = 0;
}

INLINE void NAME(clear_bins)(NAME(bins) * bins) {
  for (int exponent = 0; exponent <= MAX_EXPONENT; ++exponent) {
    for (int copy = 0; copy < BIN_COPIES; ++copy) {
      bins->sums[exponent][copy] = 0;
      bins->squares[exponent][copy] = 0;
    }
  }
  bins->top = SPLAT(SBITS, (SBITS)~MAGNITUDE_MASK);
  bins->bottom = SPLAT(SBITS, (SBITS)MAGNITUDE_MASK);
  bins->nans = bins->positive_infs = bins->negative_infs = bins->zeros = bins->negatives = SPLAT(UBITS, 0);
}

// Counts and extrema of a group with NaN or Inf.
INLINE void NAME(count_group)(NAME(bins) * bins, SPACE const u8* p) {
  const UBITS infinity = (UBITS)INF_BITS;
  VECTOR_OF(SBITS) top = bins->top, bottom = bins->bottom;
  VECTOR_OF(UBITS) nans = bins->nans, positive_infs = bins->positive_infs, negative_infs = bins->negative_infs;
  VECTOR_OF(UBITS) zeros = bins->zeros, negatives = bins->negatives;
  for (int i = 0; i < GROUP; i += LANES(UBITS)) {
    const VECTOR_OF(UBITS) bits = LOAD(UBITS, p + i * (int)sizeof(UBITS));
    const VECTOR_OF(UBITS) magnitude = bits & MAGNITUDE_MASK;
    const VECTOR_OF(SBITS) key = KEY(SBITS, bits);
    COUNT_INTO(UBITS, nans, magnitude > infinity);
    COUNT_INTO(UBITS, positive_infs, bits == infinity);
    COUNT_INTO(UBITS, negative_infs, bits == (UBITS)(infinity | (UBITS)~MAGNITUDE_MASK));
    COUNT_INTO(UBITS, zeros, magnitude == (UBITS)0);
    COUNT_INTO(UBITS, negatives, (key < (SBITS)-1) & (magnitude <= infinity));
    top = MAX(top, magnitude <= infinity ? key : SPLAT(SBITS, (SBITS)~MAGNITUDE_MASK));
    bottom = MIN(bottom, magnitude <= infinity ? key : SPLAT(SBITS, (SBITS)MAGNITUDE_MASK));
  }
  bins->top = top;
  bins->bottom = bottom;
  bins->nans = nans;
  bins->positive_infs = positive_infs;
  bins->negative_infs = negative_infs;
  bins->zeros = zeros;
  bins->negatives = negatives;
}

// The sums of the GROUP elements at p, and when they are not all finite, their counts and extrema too.
INLINE void NAME(bin_group)(NAME(bins) * bins, WORDS i64* partial, SPACE const u8* p, int finite) {
  if (bins->elements == 0) NAME(clear_bins)(bins);
  if (!finite) NAME(count_group)(bins, p);
  // Apart, so that the compiler may do this part in vectors.
  u32 places[GROUP];
  i32 mantissas[GROUP];
  for (int i = 0; i < GROUP; ++i) {
    const UBITS bits = LOAD_ONE(UBITS, p + i * (int)sizeof(UBITS));
    const i32 exponent = (i32)(bits & MAGNITUDE_MASK) >> MANTISSA_SHIFT;
    const i32 fraction = (i32)bits & (((i32)1 << MANTISSA_SHIFT) - 1);
    const i32 mantissa = fraction | (exponent == 0 ? 0 : (i32)1 << MANTISSA_SHIFT);
    places[i] = (u32)(BIN_COPIES * exponent);
    mantissas[i] = bits > MAGNITUDE_MASK ? -mantissa : mantissa;
  }
  i64* const sums = bins->sums[0];
  u64* const squares = bins->squares[0];
  for (int i = 0; i < GROUP; i += BIN_COPIES) {
    for (int copy = 0; copy < BIN_COPIES; ++copy) {
      const u32 place = places[i + copy] + (u32)copy;
      const i64 mantissa = mantissas[i + copy];
      sums[place] += mantissa;
      squares[place] += (u64)(mantissa * mantissa);
    }
  }
  bins->elements += GROUP;
  if (bins->elements > BIN_ELEMENTS) NAME(flush_bins)(bins, partial);
}
