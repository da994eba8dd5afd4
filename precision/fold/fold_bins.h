// Bins for the groups that no window holds. There is a bin for each sign and stored exponent, as in Neal's "large
// superaccumulator" (arXiv:1505.05571). One text for C++ and OpenCL C, included once for each dtype.
//
// A bin holds the sum of mantissas and the sum of their squares side by side, so an element costs one addition to
// memory. Every linear sum follows from the sums of both signs. Neighbours go to different copies, so that an addition
// seldom waits for the one before. The bins of the exponent of NaN and Inf are not read.
#define BINS (2 * (MAX_EXPONENT + 1))
#define BIN_COPIES 4
#define LOG2_BIN_BYTES (sizeof(UBITS) == 2 ? 5 : 6)  // of all copies
// The number of elements until the bins are emptied. 2^16 squares of float32's 24 bits fit into 64 bits, and 2^16 squares
// of bfloat16's 8 bits into 32. float16 never goes into bins, because one window holds all of it.
#define BIN_ELEMENTS (65536 - GROUP)

// A bin: the squares, and above them the sum. These are two words; for the half types, two halves of one word.
#define BIN CAT(BIN_, UBITS)
#define BIN_u16 i64
#define BIN_u32 v_i64x2
#define BIN_SQUARES(bin) CAT(BIN_SQUARES_, UBITS)(bin)
#define BIN_SQUARES_u16(bin) ((u32)(bin))
#define BIN_SQUARES_u32(bin) FIRST_I64(bin)
#define BIN_SUM(bin) CAT(BIN_SUM_, UBITS)(bin)
#define BIN_SUM_u16(bin) ((bin) >> 32)
#define BIN_SUM_u32(bin) SECOND_I64(bin)

typedef struct {
  BIN sums[BINS][BIN_COPIES];  // in the order of the elements' bits, so negative elements are last
  u32 elements;              // 0: the bins are not cleared yet
} Bins;

NOINLINE void flush_bins(Bins* bins, WORDS i64* partial, const int needs) {
  if (bins->elements == 0) return;
  for (u32 exponent = 0; exponent < (u32)MAX_EXPONENT; ++exponent) {
    i64 positive = 0, negative = 0;
    u64 squares = 0;
    for (int copy = 0; copy < BIN_COPIES; ++copy) {
      const BIN above = bins->sums[exponent][copy], below = bins->sums[exponent + BINS / 2][copy];
      positive += BIN_SUM(above);
      negative += BIN_SUM(below);
      squares += (u64)BIN_SQUARES(above) + (u64)BIN_SQUARES(below);
    }
    if (squares == 0) continue;
    const u32 position = MAX(exponent, 1u) - 1 + FIRST_UNIT;
    FOR_EACH_LINEAR(if (linear_is_lifted(sum, needs)) {
      const i64 total = linear_of_size(sum, positive, 0) + linear_of_size(sum, negative, 1);
      deposit(partial + LINEAR_OFFSET(sum), total, position);
    })
    deposit_times(partial + OFFSET(SQUARES), squares, 1, 2 * position);
  }
  bins->elements = 0;
}

// A vector of 32-bit words holds 2 * BIN_PAIRS elements. First come the terms of the even elements, then the terms of the
// odd elements. Each half is in the order of STORE_ZIPPED.
#define BIN_PAIRS (LANES(u32) * 2 / (int)sizeof(UBITS))
#define BIN_ORDER(k) (2 * CAT(BIN_LANE_, UBITS)((k) % BIN_PAIRS) + (k) / BIN_PAIRS)
#define BIN_LANE_u16(k) ZIPPED_LANE(i32, k)
#define BIN_LANE_u32(k) ZIPPED_LANE(i64, k)
// A constant, once for each element of a 32-bit word.
#define EACH(x) ((u32)(x) * (sizeof(UBITS) == 2 ? 0x10001u : 1u))

// Sets the terms that the elements of these words add, and the byte offsets of their bins.
INLINE void split_terms(v_u32 words, u32* offsets, BIN* terms) {
  STORE(u32, offsets, (words >> (u32)(MANTISSA_SHIFT - LOG2_BIN_BYTES)) & EACH((BINS - 1) << LOG2_BIN_BYTES));
  // Unless the exponent is 0, the sum carries into the sign bit.
  const v_u32 carried = (words & EACH(INF_BITS)) + EACH(INF_BITS);
  const v_u32 hidden = (carried >> (u32)(SIGN_SHIFT - MANTISSA_SHIFT)) & EACH((u32)1 << MANTISSA_SHIFT);
  const v_u32 mantissas = hidden | (words & EACH(((u32)1 << MANTISSA_SHIFT) - 1));
  if (sizeof(UBITS) == 2) {
    const v_u32 even = mantissas & 0xffffu, odd = mantissas >> 16u;
    STORE_ZIPPED(i32, terms, AS(i32, even * even), AS(i32, even));
    STORE_ZIPPED(i32, terms + BIN_PAIRS, AS(i32, odd * odd), AS(i32, odd));
  } else {
    const v_u64 even = AS(u64, mantissas) & (u64)0xffffffff, odd = AS(u64, mantissas) >> (u64)32;
    STORE_ZIPPED(i64, terms, AS(i64, MUL_32(even, even)), AS(i64, even));
    STORE_ZIPPED(i64, terms + BIN_PAIRS, AS(i64, MUL_32(odd, odd)), AS(i64, odd));
  }
}

// Adds the GROUP elements at p to the bins.
INLINE void bin_group(Bins* bins, WORDS i64* partial, SPACE const u8* p, const int needs) {
  BIN* const all = bins->sums[0];
  if (bins->elements == 0) {
    for (int i = 0; i < BINS * BIN_COPIES; ++i) all[i] = ZERO(BIN);
  }
  // A loop of its own, so that it uses vectors.
  u32 offsets[GROUP * sizeof(UBITS) / 4];
  BIN terms[GROUP];
  for (int i = 0; i < GROUP; i += 2 * BIN_PAIRS) {
    split_terms(LOAD(u32, p + i * (int)sizeof(UBITS)), offsets + i * (int)sizeof(UBITS) / 4, terms + i);
  }
  for (int i = 0; i < GROUP; i += 2 * BIN_PAIRS) {
    UNROLL
    for (int k = 0; k < 2 * BIN_PAIRS; ++k) {
      const u32 offset = LOAD_OF(private, UBITS, (const u8*)offsets + (i + BIN_ORDER(k)) * (int)sizeof(UBITS));
      *((BIN*)((u8*)all + offset) + k % BIN_COPIES) += terms[i + k];
    }
  }
  bins->elements += GROUP;
  if (bins->elements > BIN_ELEMENTS) flush_bins(bins, partial, needs);
}
