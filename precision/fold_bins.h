// Bins for the groups that no window holds: sums of mantissas and of their squares by stored exponent,
// as in Neal's "large superaccumulator" (arXiv:1505.05571). One text for C++ and OpenCL C, included once
// a dtype.
//
// A bin holds both sums side by side, so that an element costs one addition to memory whatever its exponent.
// Neighbours go to different copies, so that an addition seldom waits for the one before. NaN and Inf have an
// exponent of their own, whose bin nobody reads.
#define BIN_COPIES 4
#define BIN_STEP 64
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

NOINLINE void NAME(flush_bins)(NAME(bins) * bins, WORDS i64* partial) {
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
    deposit(partial + PARTIAL_SUM, sum, position);
    deposit_unsigned(partial + SQUARES, squares, 2 * position);
  }
  bins->elements = 0;
}

// The elements in lanes of twice their width.
#define WIDER CAT(WIDER_, UBITS)
#define WIDER_u16 u32
#define WIDER_u32 u64
#define WIDER_SIGNED CAT(WIDER_SIGNED_, UBITS)
#define WIDER_SIGNED_u16 i32
#define WIDER_SIGNED_u32 i64

// What a vector of elements adds, and to where: bytes from the first bin.
INLINE void NAME(place_terms)(VECTOR_OF(WIDER) bits, WIDER* places, BIN* terms) {
  const VECTOR_OF(WIDER) exponent = (bits >> (WIDER)MANTISSA_SHIFT) & (WIDER)MAX_EXPONENT;
  // Carries into the bit above unless the exponent is 0.
  const VECTOR_OF(WIDER) hidden = (exponent + (WIDER)MAX_EXPONENT) >> (WIDER)(SIGN_SHIFT - MANTISSA_SHIFT);
  const VECTOR_OF(WIDER) magnitude =
      (bits & (((WIDER)1 << MANTISSA_SHIFT) - 1)) | (hidden << (WIDER)MANTISSA_SHIFT);
  const VECTOR_OF(WIDER_SIGNED) sign = AS(WIDER_SIGNED, bits << (WIDER)(SIGN_SHIFT + 1)) < 0;
  STORE(WIDER, places, exponent * (WIDER)(BIN_COPIES * sizeof(BIN)));
  STORE_ZIPPED(WIDER_SIGNED, terms, AS(WIDER_SIGNED, SQUARE_HALF(WIDER, magnitude)),
               (AS(WIDER_SIGNED, magnitude) ^ sign) - sign);
}

// The sums of the GROUP elements at p, NaN and Inf left out.
INLINE void NAME(bin_group)(NAME(bins) * bins, WORDS i64* partial, SPACE const u8* p) {
  BIN* const all = bins->at[0];
  if (bins->elements == 0) {
    for (int i = 0; i < (MAX_EXPONENT + 1) * BIN_COPIES; ++i) all[i] = ZERO(BIN);
  }
  // In steps, of which a processor prepares one while it adds the one before.
  for (int step = 0; step < GROUP; step += BIN_STEP) {
    WIDER places[BIN_STEP];
    BIN terms[BIN_STEP];
    for (int i = 0; i < BIN_STEP; i += 2 * LANES(WIDER)) {
      const VECTOR_OF(WIDER) pairs = LOAD(WIDER, p + (step + i) * (int)sizeof(UBITS));
      NAME(place_terms)(pairs & (WIDER)(UBITS)-1, places + i, terms + i);
      NAME(place_terms)(pairs >> (WIDER)(SIGN_SHIFT + 1), places + i + LANES(WIDER), terms + i + LANES(WIDER));
    }
    for (int i = 0; i < BIN_STEP; i += BIN_COPIES) {
      UNROLL
      for (int copy = 0; copy < BIN_COPIES; ++copy) {
        BIN* const bin = (BIN*)((u8*)all + places[i + copy]) + copy;
        *bin += terms[i + copy];
      }
    }
  }
  bins->elements += GROUP;
  if (bins->elements > BIN_ELEMENTS) NAME(flush_bins)(bins, partial);
}
