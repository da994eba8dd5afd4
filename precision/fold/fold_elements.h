// The fold of the accumulators of precision/elements.h with BESIDE, for families with FOLDS_ELEMENTS. It reads a block
// again, after the family's fold and while the block is in the nearest cache. So a statistic that is not requested
// costs nothing in the family's fold. One text for C++ and OpenCL C, included once for each dtype.

// The needs of the rows that the dtype has.
#define ELEMENT_ASKED(id, merge, need, dtypes, fold, with) ELEMENT_ASKED_##fold(need, dtypes)
#define ELEMENT_ASKED_WITHIN(need, dtypes)
#define ELEMENT_ASKED_BESIDE(need, dtypes) | ((dtypes) ? (int)NEED_##need : 0)
#define ELEMENT_NEEDS (FOLDS_ELEMENTS ? (int)NEED_BLOCKS & (0 ELEMENT_ROWS(ELEMENT_ASKED, )) : 0)

// The number of elements in a block: 8 KiB, but not more vectors than counters of a byte have room for, twice; of wide
// elements 2048. A family's fold empties its counters after each block.
#define ELEMENT_BLOCK (sizeof(UBITS) > 2 ? 2048 : sizeof(UBITS) == 2 && LANES(u8) > 16 ? 4096 : 128 * LANES(u8))
// The counters have as many bits as an element. They are emptied after a block if more vectors than this were counted.
#define ELEMENT_STEPS ((sizeof(UBITS) == 1 ? 255u : 65535u) - ELEMENT_BLOCK / (u32)LANES(UBITS))

typedef struct {
  VECTOR_OF(UBITS) lanes[ELEMENT_WORDS];
  u32 steps;
} Elements;

#define EMPTY_MAXIMUM ELEMENT_SIGN
#define EMPTY_ADDITION 0
#define EMPTY_ELEMENT(id, merge, need, dtypes, fold, with) \
  elements->lanes[ELEMENT_WORD_##id] = SPLAT(UBITS, EMPTY_##merge);
INLINE void open_elements(Elements* elements) {
  ELEMENT_ROWS(EMPTY_ELEMENT, )
  elements->steps = 0;
}

// Adds the lanes to the partial, and empties the counters.
#define FLUSH_MAXIMUM(word, lanes)                            \
  {                                                           \
    const SBITS key = MAX_LANE(SBITS, AS(SBITS, lanes));      \
    if (key != (SBITS)ELEMENT_SIGN) RAISE(word, (i64)key);    \
  }
#define FLUSH_ADDITION(word, lanes)      \
  ADD(word, ADD_LANES(UBITS, lanes));    \
  lanes = SPLAT(UBITS, 0);
#define FLUSH_ELEMENT(id, merge, need, dtypes, fold, with) FLUSH_##fold(id, merge, need, dtypes)
#define FLUSH_WITHIN(id, merge, need, dtypes)
#define FLUSH_BESIDE(id, merge, need, dtypes)                              \
  if ((needs & NEED_##need) && (dtypes)) {                                 \
    FLUSH_##merge(partial[OFFSET(id)], elements->lanes[ELEMENT_WORD_##id]) \
  }
NOINLINE void flush_elements(Elements* elements, WORDS i64* partial, const int needs) {
  ELEMENT_ROWS(FLUSH_ELEMENT, )
  elements->steps = 0;
}

#define TAKE_MAXIMUM(lanes, term)  // only LEAST_SIZE, which `near` gives
#define TAKE_ADDITION(lanes, term) COUNT_INTO(UBITS, lanes, term);
#define TAKE_ELEMENT(id, merge, need, dtypes, fold, with) TAKE_##fold(id, merge, need, dtypes)
#define TAKE_WITHIN(id, merge, need, dtypes)
#define TAKE_BESIDE(id, merge, need, dtypes)                                                        \
  if ((needs & NEED_##need) && (dtypes) && ELEMENT_MAY_##id(low, near, high)) {                     \
    VECTOR_OF(UBITS) lanes = elements->lanes[ELEMENT_WORD_##id];                                    \
    for (u32 i = 0; i < count; i += (u32)LANES(UBITS)) {                                            \
      const VECTOR_OF(UBITS) bits = LOAD(UBITS, p + i * sizeof(UBITS)), size = ELEMENT_SIZES(bits); \
      (void)size;                                                                                   \
      TAKE_##merge(lanes, ELEMENT_##id(VECTOR_OF(UBITS), bits, size))                               \
    }                                                                                               \
    elements->lanes[ELEMENT_WORD_##id] = lanes;                                                     \
  }

// The smallest sizes of a block, less 1. So zeros are above all others.
NOINLINE VECTOR_OF(UBITS) near_zero(SPACE const u8* p, const u32 count) {
  VECTOR_OF(UBITS) near = SPLAT(UBITS, (UBITS)~(UBITS)0);
  for (u32 i = 0; i < count; i += (u32)LANES(UBITS)) {
    near = MIN(near, (VECTOR_OF(UBITS))(ELEMENT_SIZES(LOAD(UBITS, p + i * sizeof(UBITS))) - (UBITS)1));
  }
  return near;
}

// Folds the `count` elements at p: whole groups, at most a block. Their smallest and largest sizes show which rows any
// element may count in. Most blocks have no such elements.
NOINLINE void fold_elements(Elements* elements, WORDS i64* partial, SPACE const u8* p, const u32 count,
                            const int needs) {
  VECTOR_OF(UBITS) lows = SPLAT(UBITS, (UBITS)~(UBITS)0), highs = SPLAT(UBITS, 0);
  for (u32 i = 0; i < count; i += (u32)LANES(UBITS)) {
    const VECTOR_OF(UBITS) bits = LOAD(UBITS, p + i * sizeof(UBITS)), size = ELEMENT_SIZES(bits);
    lows = MIN(lows, size);
    highs = MAX(highs, size);
  }
  const UBITS low = MIN_LANE(UBITS, lows), high = MAX_LANE(UBITS, highs);
  const VECTOR_OF(UBITS) nears = low != 0 ? lows - (UBITS)1 : near_zero(p, count);
  const UBITS near = low != 0 ? (UBITS)(low - 1) : MIN_LANE(UBITS, nears);
  VECTOR_OF(UBITS)* const keys = elements->lanes + ELEMENT_WORD_LEAST_SIZE;
  const VECTOR_OF(UBITS) sizes = nears + (UBITS)1;
  *keys = AS(UBITS, MAX(AS(SBITS, *keys), AS(SBITS, ELEMENT_LEAST_SIZE(VECTOR_OF(UBITS), sizes, sizes))));
  ELEMENT_ROWS(TAKE_ELEMENT, )
  elements->steps += count / (u32)LANES(UBITS);
  if (elements->steps > ELEMENT_STEPS) flush_elements(elements, partial, needs);
}
