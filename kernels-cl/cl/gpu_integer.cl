// A lane's tally of bool and the integers up to 32 bits. It takes four bytes or two elements of 16 bits at a time, by the
// functions of gpu_packed.cl. The sums of one lane stay below 2^32, but for the squares of 16 and 32 bits and the linear sums
// of 32 bits.
#define BYTES ((bool)(sizeof(UBITS) == 1))
#define PAIRS_OF_ELEMENTS ((bool)(sizeof(UBITS) == 2))
#define LEAST (!IS_SIGNED ? 0u : BYTES || PAIRS_OF_ELEMENTS ? SIGNS_16 : 0x80000000u)

typedef struct {
  u32 top, bottom;            // of bytes: the odd ones, each in the upper half of 16 bits,
  u32 top_even, bottom_even;  // and the even ones
  u32 count, nonzeros, negatives;
  u32 linear[LINEAR], squares;  // of bytes; linear sums of 16-bit elements, too
  i64 wide_linear[LINEAR];
  u64 wide_squares, high_squares;  // of 32-bit elements: the lower and the upper halves of the products
} Lane;

INLINE void open_lane(Lane* lane, const Window* window) {
  (void)window;
  lane->top = lane->top_even = LEAST;
  lane->bottom = lane->bottom_even = ~LEAST;
  lane->count = lane->nonzeros = lane->negatives = lane->squares = 0;
#pragma unroll
  for (int sum = 0; sum < LINEAR; ++sum) lane->linear[sum] = lane->wide_linear[sum] = 0;
  lane->wide_squares = lane->high_squares = 0;
}

INLINE u32 packed_max(u32 a, u32 b) { return IS_SIGNED ? max_i16x2(a, b) : max_u16x2(a, b); }
INLINE u32 packed_min(u32 a, u32 b) { return IS_SIGNED ? min_i16x2(a, b) : min_u16x2(a, b); }
INLINE u32 dot(u32 a, u32 b, u32 sum) { return IS_SIGNED ? dot_i8x4(a, b, sum) : dot_u8x4(a, b, sum); }

// Adds the linear sums and the square of a 32-bit element. Of a 16-bit element it adds only the square.
INLINE void add_wide(Lane* lane, i64 x) {
  const u64 square = (u64)(x * x);
  if (PAIRS_OF_ELEMENTS) {
    if (NEEDS & NEED_SQUARES) lane->wide_squares += square;
    return;
  }
#pragma unroll
  for (int sum = 0; sum < LINEAR; ++sum) {
    if (NEEDS & linear_need(sum)) lane->wide_linear[sum] += LINEAR_TERM(x, sum);
  }
  if (NEEDS & NEED_SQUARES) {
    lane->wide_squares += square & 0xffffffff;
    lane->high_squares += square >> 32;
  }
}

INLINE void add_pair(Lane* lane, u32 word) {
  const i32 low = (ORDERED)word, high = (ORDERED)(word >> 16);
#pragma unroll
  for (int sum = 0; sum < LINEAR; ++sum) {
    if (NEEDS & linear_need(sum)) lane->linear[sum] += (u32)(LINEAR_TERM(low, sum) + LINEAR_TERM(high, sum));
  }
  add_wide(lane, low);
  add_wide(lane, high);
}

// For bool only the number of nonzero bytes matters.
INLINE void take_bytes(Lane* lane, u32 word) {
  lane->nonzeros = count_signs_8(lane->nonzeros, nonzero_8(word & ~SIGNS_8) | word);
  if (IS_BOOL) return;
  if (NEEDS & NEED_EXTREMA) {
    lane->top = packed_max(lane->top, word);
    lane->top_even = packed_max(lane->top_even, word << 8);
    lane->bottom = packed_min(lane->bottom, word);
    lane->bottom_even = packed_min(lane->bottom_even, word << 8);
  }
  if ((NEEDS & NEED_SIGNS) && (bool)IS_SIGNED) lane->negatives = count_signs_8(lane->negatives, word);
  const u32 below_zero = word & (((word & SIGNS_8) >> 7) * 0xffu);
#pragma unroll
  for (int sum = 0; sum < LINEAR; ++sum) {  // all elements times `above`, then those below 0 times the rest of `below`
    if ((NEEDS & linear_need(sum)) == 0) continue;
    const u32 lacks = (u32)(u8)(linear_below(sum) - linear_above(sum)) * 0x01010101u;
    if (linear_above(sum) != 0) lane->linear[sum] = dot(word, 0x01010101, lane->linear[sum]);
    if (IS_SIGNED && lacks != 0) lane->linear[sum] = dot_i8x4(below_zero, lacks, lane->linear[sum]);
  }
  if (NEEDS & NEED_SQUARES) lane->squares = dot(word, word, lane->squares);
}

// Takes two words of 16-bit elements.
INLINE void take_pairs(Lane* lane, u32 a, u32 b) {
  if (NEEDS & NEED_EXTREMA) {
    lane->top = packed_max(packed_max(lane->top, a), b);
    lane->bottom = packed_min(packed_min(lane->bottom, a), b);
  }
  if (NEEDS & NEED_SIGNS) {
    lane->nonzeros = count_signs_16(lane->nonzeros, nonzero_16(a & ~SIGNS_16) | a, nonzero_16(b & ~SIGNS_16) | b);
    if (IS_SIGNED) lane->negatives = count_signs_16(lane->negatives, a, b);
  }
  add_pair(lane, a);
  add_pair(lane, b);
}

INLINE void take_word(Lane* lane, u32 word) {
  const i64 x = (ORDERED)word;
  if (NEEDS & NEED_EXTREMA) {
    lane->top = IS_SIGNED ? (u32)max((i32)lane->top, (i32)word) : max(lane->top, word);
    lane->bottom = IS_SIGNED ? (u32)min((i32)lane->bottom, (i32)word) : min(lane->bottom, word);
  }
  if (NEEDS & NEED_SIGNS) {
    lane->nonzeros += word != 0;
    if (IS_SIGNED) lane->negatives += word >> 31;
  }
  add_wide(lane, x);
}

INLINE bool take_vector(Lane* lane, const Window* window, uint4 vector) {
  const u32 words[4] = {vector.x, vector.y, vector.z, vector.w};
  (void)window;
  lane->count += 16 / (u32)sizeof(UBITS);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    if (BYTES) {
      take_bytes(lane, words[k]);
    } else if (!PAIRS_OF_ELEMENTS) {
      take_word(lane, words[k]);
    } else if (k % 2 == 1) {
      take_pairs(lane, words[k - 1], words[k]);
    }
  }
  return true;
}

INLINE u32 take_step(Lane* lane, const Window* window, const uint4* vectors) {
#pragma unroll
  for (u32 k = 0; k < LOADS; ++k) (void)take_vector(lane, window, vectors[k]);
  return 0;
}

// Takes one element. The sums take a word with this element and zeros, the bounds a word with copies of it.
INLINE bool take(Lane* lane, const Window* window, UBITS element) {
  const u32 word = (u32)element;
  (void)window;
  if (BYTES || PAIRS_OF_ELEMENTS) {
    const u32 everywhere = BYTES ? word * 0x01010101u : IN_EACH_16(word);
    Lane bounds = *lane;
    if (BYTES) {
      take_bytes(&bounds, everywhere);
      take_bytes(lane, word);
    } else {
      take_pairs(&bounds, everywhere, everywhere);
      take_pairs(lane, word, 0);
    }
    lane->top = bounds.top;
    lane->top_even = bounds.top_even;
    lane->bottom = bounds.bottom;
    lane->bottom_even = bounds.bottom_even;
  } else {
    take_word(lane, word);
  }
  lane->count += 1;
  return true;
}

// The upper and the lower element of a word that packed_max or packed_min made.
#define UPPER(word) (BYTES ? (i64)(ORDERED)((word) >> 24) : (i64)(ORDERED)((word) >> 16))
#define LOWER(word) (BYTES ? (i64)(ORDERED)((word) >> 8) : (i64)(ORDERED)(word))

#define SUMS (LINEAR + 2)
INLINE void close_lane(const Lane* lane, const Window* window, i64* tally) {
  (void)window;
  tally[TALLY_ZEROS] = lane->count - lane->nonzeros;
  tally[TALLY_NEGATIVES] = lane->negatives;
  i64 top = (ORDERED)lane->top, bottom = (ORDERED)lane->bottom;
  if (BYTES || PAIRS_OF_ELEMENTS) {
    top = max(UPPER(lane->top), LOWER(lane->top));
    bottom = min(UPPER(lane->bottom), LOWER(lane->bottom));
  }
  if (BYTES) {
    top = max(top, max(UPPER(lane->top_even), LOWER(lane->top_even)));
    bottom = min(bottom, min(UPPER(lane->bottom_even), LOWER(lane->bottom_even)));
  }
  if (IS_BOOL) {
    top = lane->nonzeros != 0;
    bottom = lane->count == lane->nonzeros;
  }
  tally[TALLY_HIGHEST] = top;
  tally[TALLY_LOWEST] = ~bottom;
  i64* sums = tally + TALLY_SUMS;
#pragma unroll
  for (int sum = 0; sum < LINEAR; ++sum) {
    const bool may_be_negative = IS_SIGNED && linear_below(sum) > 0;
    const i64 narrow = may_be_negative ? (i64)(i32)lane->linear[sum] : (i64)lane->linear[sum];
    sums[sum] = IS_BOOL                      ? (i64)lane->nonzeros * linear_above(sum)
                : BYTES || PAIRS_OF_ELEMENTS ? narrow
                                             : lane->wide_linear[sum];
  }
  sums[LINEAR] = IS_BOOL ? (i64)lane->nonzeros : BYTES ? (i64)lane->squares : (i64)lane->wide_squares;
  sums[LINEAR + 1] = (i64)lane->high_squares;
}

INLINE void deposit_sums(local i64* partial, const Window* window, const i64* sums) {
  (void)window;
#pragma unroll
  for (int sum = 0; sum < LINEAR; ++sum) {
    if (NEEDS & linear_need(sum)) deposit(partial + LINEAR_OFFSET(sum), sums[sum], 0);
  }
  if (NEEDS & NEED_SQUARES) {
    deposit(partial + OFFSET(SQUARES), sums[LINEAR], 0);
    deposit(partial + OFFSET(SQUARES), sums[LINEAR + 1], 32);
  }
}
