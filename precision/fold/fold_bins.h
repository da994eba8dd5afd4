// Bins for the groups that no window holds: sums of mantissas and of their squares by stored exponent,
// as in Neal's "large superaccumulator" (arXiv:1505.05571). One text for C++ and OpenCL C, included once
// a dtype.
//
// A bin holds both sums side by side, so that an element costs one addition to memory whatever its exponent.
// Neighbours go to different copies, so that an addition seldom waits for the one before. NaN and Inf have an
// exponent of their own, whose bin nobody reads.
#define BIN_COPIES 4
// Elements until the bins are emptied: 2^16 squares of 24 bits fit 64, and of bfloat16's 8 bits 32. Nobody bins
// float16, whose elements all fit one window.
#define BIN_ELEMENTS (65536 - GROUP)

// The squares and above them the sum: two words, and for the half types two halves of one.
#define BIN CAT(BIN_, UBITS)
#define BIN_u16 i64
#define BIN_u32 v_pair
#define BIN_SQUARES(bin) CAT(BIN_SQUARES_, UBITS)(bin)
#define BIN_SQUARES_u16(bin) ((u32)(bin))
#define BIN_SQUARES_u32(bin) PAIR_FIRST(bin)
#define BIN_SUM(bin) CAT(BIN_SUM_, UBITS)(bin)
#define BIN_SUM_u16(bin) ((bin) >> 32)
#define BIN_SUM_u32(bin) PAIR_SECOND(bin)

typedef struct {
  BIN at[MAX_EXPONENT + 1][BIN_COPIES];
  u32 elements;  // 0: nothing above is set
} NAME(bins);

// With `absolute`, the bins are of |x|, and only their sum counts.
NOINLINE void NAME(flush_bins)(NAME(bins) * bins, WORDS i64* partial, const int absolute) {
  if (bins->elements == 0) return;
  for (u32 exponent = 0; exponent < (u32)MAX_EXPONENT; ++exponent) {
    i64 sum = 0;
    u64 squares = 0;
    for (int copy = 0; copy < BIN_COPIES; ++copy) {
      sum += BIN_SUM(bins->at[exponent][copy]);
      squares += (u64)BIN_SQUARES(bins->at[exponent][copy]);
    }
    if (squares == 0) continue;
    const u32 position = MAX(exponent, 1u) - 1 + FIRST_UNIT;
    deposit(partial + (absolute ? PLACE(ABSOLUTE) : PLACE(SUM)), sum, position);
    if (!absolute) deposit_times(partial + PLACE(SQUARES), squares, 1, 2 * position);
  }
  bins->elements = 0;
}

// The elements of a vector of 32-bit words that are prepared together, and the order in which their terms come out.
#define BIN_LANES LANES(u32)
#define BIN_ORDER(k) (sizeof(UBITS) == 2 ? (k) : (k) % (BIN_LANES / 2) * 2 + (k) / (BIN_LANES / 2))

// What elements add, and to where: bytes from the first bin. An element a word, in its low bits.
INLINE void NAME(place_terms)(v_u32 bits, u32* places, BIN* terms) {
  const v_u32 exponent = (bits >> (u32)MANTISSA_SHIFT) & (u32)MAX_EXPONENT;
  // Carries into the bit above unless the exponent is 0.
  const v_u32 hidden = (exponent + (u32)MAX_EXPONENT) >> (u32)(SIGN_SHIFT - MANTISSA_SHIFT);
  const v_u32 magnitude = (bits & (((u32)1 << MANTISSA_SHIFT) - 1)) | (hidden << (u32)MANTISSA_SHIFT);
  const v_i32 sign = AS(i32, bits << (u32)(31 - SIGN_SHIFT)) >> 31;
  const v_i32 mantissa = (AS(i32, magnitude) ^ sign) - sign;
  STORE(u32, places, exponent * (u32)(BIN_COPIES * sizeof(BIN)));
  if (sizeof(UBITS) == 2) {
    STORE_ZIPPED(i32, terms, AS(i32, magnitude * magnitude), mantissa);
  } else {
    const v_u64 even = PAIRS(magnitude), odd = even >> (u64)32;
    STORE_ZIPPED(i64, terms, AS(i64, MUL_32(even, even)), EXTEND_LOW(PAIRS(mantissa)));
    STORE_ZIPPED(i64, terms + BIN_LANES / 2, AS(i64, MUL_32(odd, odd)), EXTEND_LOW(PAIRS(mantissa) >> (u64)32));
  }
}

// The sums of the GROUP elements at p, NaN and Inf left out; with `absolute`, of their sizes.
INLINE void NAME(bin_group)(NAME(bins) * bins, WORDS i64* partial, SPACE const u8* p, const int absolute) {
  BIN* const all = bins->at[0];
  if (bins->elements == 0) {
    for (int i = 0; i < (MAX_EXPONENT + 1) * BIN_COPIES; ++i) all[i] = ZERO(BIN);
  }
  // Apart, so that this part is done in vectors.
  u32 places[GROUP];
  BIN terms[GROUP];
  for (int i = 0; i < GROUP; i += BIN_LANES) {
    const int odd = sizeof(UBITS) == 2 && i / BIN_LANES % 2;
    const v_u32 words = LOAD(u32, p + (i - odd * BIN_LANES) * (int)sizeof(UBITS));
    const v_u32 elements = sizeof(UBITS) == 4 ? words : odd ? words >> 16u : words & 0xffffu;
    NAME(place_terms)(absolute ? elements & (u32)MAGNITUDE_MASK : elements, places + i, terms + i);
  }
  for (int i = 0; i < GROUP; i += BIN_LANES) {
    UNROLL
    for (int k = 0; k < BIN_LANES; ++k) {
      BIN* const bin = (BIN*)((u8*)all + places[i + BIN_ORDER(k)]) + k % BIN_COPIES;
      *bin += terms[i + k];
    }
  }
  bins->elements += GROUP;
  if (bins->elements > BIN_ELEMENTS) NAME(flush_bins)(bins, partial, absolute);
}
