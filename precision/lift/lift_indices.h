// Lifts elements and their indices into the words of precision/indices.h. The folds must agree with it. One text for
// C++ and OpenCL C, included once for each dtype after its lift.

#define LIFT_INDEX(id, dtypes) \
  if (dtypes) raise_keyed_if(INDEX_IF_##id(size), words + INDEX_WORD_##id, INDEX_KEY_##id(order), ~(i64)index);

// Lifts element `index`. `words` are the words of indices.h, not the whole partial.
INLINE void lift_index(i64* words, const UBITS bits, const u64 index) {
  const UBITS size = ELEMENT_SIZE(bits);
  const i64 order = INDEX_ORDER(bits);
  INDEX_ROWS(LIFT_INDEX)
}

#if UNPACKS
// Lifts the first `elements` elements of a byte. The first one is element `first`. Not unrolled, because a kernel has
// this for each byte of a vector.
INLINE void lift_index_some(i64* words, const u32 code, const u32 elements, const u64 first) {
  for (u32 k = 0; k < elements; ++k) lift_index(words, UNPACKED(code, k), first + k);
}
#endif

// Lifts the `count` elements at p. The first one is element `first`.
INLINE void lift_indices(i64* words, TILE_SPACE const u8* p, const u64 count, const u64 first) {
#if UNPACKS
  for (u64 i = 0; i < count; i += ELEMENTS_A_CODE) {
    const u32 elements = (u32)MIN(count - i, (u64)ELEMENTS_A_CODE);
    lift_index_some(words, (u32)p[i / ELEMENTS_A_CODE], elements, first + i);
  }
#else
  for (u64 i = 0; i < count; ++i) lift_index(words, LOAD_OF(TILE_SPACE, UBITS, p + i * sizeof(UBITS)), first + i);
#endif
}
