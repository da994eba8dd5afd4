// The fold of the words of precision/indices.h: beside the family's own fold, a block at a time. That fold tells what it
// has seen so far; only where this beats what was found before is the block searched, while it is in the nearest cache.
// In data of any order but an ascending one few blocks are. One text for C++ and OpenCL C, included once a dtype, behind
// its fold.

// Lifts the first vector of a block with an element whose bits under `mask` are `least` to `most`.
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
  const int is_any = IS_BOOL && order != 0;  // any byte but 0
  find_index(words, p, count, first, (UBITS) ~(UBITS)0, is_any ? one : bits, is_any ? (UBITS) ~(UBITS)0 : bits);
}

// The `count` elements at p, whole groups, which `fold` has taken; the first of them is number `first`.
NOINLINE void fold_indices(const Fold* fold, WORDS i64* partial, SPACE const u8* p, const u32 count, const u64 first) {
  WORDS i64* const words = partial + PLACE(INDICES);
  i64 highest, lowest;
  const int seen = so_far(fold, partial, p, count, &highest, &lowest);
  WORDS i64 *const greatest = words + INDEX_PLACE_GREATEST, *const least = words + INDEX_PLACE_LEAST;
  // All before the first search: what that lifts holds other elements too, and not the first ones.
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
