// A lane's share of the accumulators of precision/elements.h and indices.h, in registers, and of exponents.h, in local memory.
// It takes every element, also those that the family's lane refuses.
typedef struct {
  i64 words[ELEMENT_WORDS], indices[INDEX_WORDS];
  local u32* exponents;  // the lane's copy of the counts; the EXPONENT_COPIES copies are interleaved
} Elements;

#define PARTS 1  // gpu_complex.cl has two

// Lanes count in different copies, so that equal exponents seldom wait for one another. float64 has one copy, because a device
// may have no more than 32 KiB of local memory.
#define EXPONENT_COPIES ((NEEDS & NEED_EXPONENTS) == 0 || (int)EXPONENTS_OF_FAMILY > 256 ? 1 : 8)
#define EXPONENT_COUNTS (NEEDS & NEED_EXPONENTS ? (int)EXPONENTS_OF_FAMILY * EXPONENT_COPIES : 1)

#define OPEN_MAXIMUM PARTIAL_NO_KEY
#define OPEN_ADDITION 0
#define OPEN_ELEMENT(id, merge, need, dtypes, fold, with) elements->words[ELEMENT_WORD_##id] = OPEN_##merge;
INLINE void open_elements(Elements* elements, local u32* exponents, const u32 lane) {
  ELEMENT_ROWS(OPEN_ELEMENT, )
  open_indices(elements->indices);
  elements->exponents = &exponents[lane % EXPONENT_COPIES];
}

#define TAKE_MAXIMUM(word, term) word = max(word, (SBITS)(term) == (SBITS)ELEMENT_SIGN ? PARTIAL_NO_KEY : (i64)(SBITS)(term));
#define TAKE_ADDITION(word, term) word += (term) ? 1 : 0;
#define TAKE_ELEMENT(id, merge, need, dtypes, fold, with)                                   \
  if ((NEEDS & NEED_##need) && (bool)(dtypes)) {                                            \
    TAKE_##fold(merge, elements->words[ELEMENT_WORD_##id], ELEMENT_##id(UBITS, bits, size)) \
  }
#define TAKE_BESIDE(merge, word, term) TAKE_##merge(word, term)
#define TAKE_WITHIN(merge, word, term) word = max(word, term);
// Takes element `index` of the slice.
INLINE void count_element(Elements* elements, const UBITS bits, const u32 index) {
  const UBITS size = ELEMENT_SIZE(bits);
  ELEMENT_ROWS(TAKE_ELEMENT, )
  if (NEEDS & NEED_INDICES) lift_index(elements->indices, bits, index);
  if (NEEDS & NEED_EXPONENTS) (void)atomic_add(&elements->exponents[EXPONENT_OF(size) * EXPONENT_COPIES], 1u);
}

INLINE void take_element(Elements* elements, global const UBITS* from, const u32 index) {
  count_element(elements, from[index], index);
}

INLINE void take_elements(Elements* elements, const uint4 vector, u32 index) {
  const u32 words[4] = {vector.x, vector.y, vector.z, vector.w};
#pragma unroll
  for (int k = 0; k < 4; ++k) {
#pragma unroll
    for (int shift = 0; shift < 32; shift += 8 * (int)sizeof(UBITS)) {
      if (sizeof(UBITS) < 8) count_element(elements, (UBITS)(words[k] >> shift), index++);
    }
    if (sizeof(UBITS) == 8 && k % 2 == 1) count_element(elements, (UBITS)((u64)words[k] << 32 | words[k - 1]), index++);
  }
}

// Whether the element enters the sums. For complex dtypes not every part does.
INLINE bool is_summed(global const UBITS* from, const u32 index) { return true; }

#define CLOSE_MAXIMUM(word, value) RAISE(word, value);
#define CLOSE_ADDITION(word, value) ADD(word, value);
#define CLOSE_ELEMENT(id, merge, need, dtypes, fold, with)                 \
  if ((NEEDS & NEED_##need) && (bool)(dtypes)) {                           \
    CLOSE_##merge(partial[OFFSET(id)], elements->words[ELEMENT_WORD_##id]) \
  }
INLINE void close_elements(const Elements* elements, local i64* partial) { ELEMENT_ROWS(CLOSE_ELEMENT, ) }
