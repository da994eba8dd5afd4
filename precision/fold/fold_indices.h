// The fold of the words of precision/indices.h, block by block after the family's fold. so_far() tells what that fold
// has seen. The block is searched, while it is in the nearest cache, only if this beats what was found before. Few
// blocks are searched, unless the data is in ascending order. One text for C++ and OpenCL C, included once for each
// dtype after its fold.

// Finds the first vector of a block with an element from `least` to `most` under `mask`, and lifts its elements.
NOINLINE void find_index(WORDS i64* words, SPACE const u8* p, const u32 count, const u64 first, const UBITS mask,
                         const UBITS least, const UBITS most) {
  for (u32 i = 0; i < count; i += (u32)LANES(UBITS)) {
    const VECTOR_OF(UBITS) bits = LOAD(UBITS, p + i * sizeof(UBITS)) & mask;
    if (!ANY(SBITS, (VECTOR_OF(UBITS))(bits - least) <= (UBITS)(most - least))) continue;
    lift_indices(words, p + i * sizeof(UBITS), (u64)LANES(UBITS), first + i);
    return;
  }
}

INLINE void find_extreme(WORDS i64* words, SPACE const u8* p, const u32 count, const u64 first, const i64 order) {
  const UBITS bits = INDEX_BITS(order), one = (UBITS)1;
  const int is_any = IS_BOOL && order != 0;  // each byte but 0
  find_index(words, p, count, first, (UBITS) ~(UBITS)0, is_any ? one : bits, is_any ? (UBITS) ~(UBITS)0 : bits);
}

// Searches the `count` elements at p, which are whole groups that `fold` has taken. The first one is element `first`.
NOINLINE void fold_indices(const Fold* fold, WORDS i64* partial, SPACE const u8* p, const u32 count, const u64 first) {
  WORDS i64* const words = partial + OFFSET(INDICES);
  i64 highest, lowest;
  const int seen = so_far(fold, partial, p, count, &highest, &lowest);
  WORDS i64 *const greatest = words + INDEX_WORD_GREATEST, *const least = words + INDEX_WORD_LEAST;
  // These are decided before the first search. A search lifts a whole vector, which may hold later NaN, Inf or extrema.
  const int finds_nan = (seen & SEEN_NAN) != 0 && words[INDEX_AT_FIRST_NAN] == PARTIAL_NO_KEY;
  const int finds_inf = (seen & SEEN_INF) != 0 && words[INDEX_AT_FIRST_INF] == PARTIAL_NO_KEY;
  const int finds_greatest = highest >= lowest && (highest > greatest[0] || greatest[1] == PARTIAL_NO_KEY);
  const int finds_least = highest >= lowest && (~lowest > least[0] || least[1] == PARTIAL_NO_KEY);
  if (finds_nan) {
    const UBITS mask = NAN_IS_MINUS_ZERO ? (UBITS)~(UBITS)0 : MAGNITUDE_MASK;
    find_index(words, p, count, first, mask, (UBITS)(INF_SIZE + 1), NAN_IS_MINUS_ZERO ? (UBITS)(INF_SIZE + 1) : mask);
  }
  if (finds_inf) find_index(words, p, count, first, MAGNITUDE_MASK, INF_SIZE, INF_SIZE);
  if (finds_greatest) find_extreme(words, p, count, first, highest);
  if (finds_least) find_extreme(words, p, count, first, lowest);
}
