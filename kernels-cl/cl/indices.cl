// The words of precision/indices.h that a lane keeps in registers. CLOSE_INDICES merges the words of all lanes into the
// shared partial: first the largest keys, then the lowest index among the lanes with the largest key. It is a macro for the
// same reason as MERGE_PARTIAL.
INLINE void open_indices(i64* words) {
#pragma unroll
  for (int i = 0; i < INDEX_WORDS; ++i) words[i] = PARTIAL_NO_KEY;
}

#define CLOSE_INDICES(words, partial)                                                                      \
  if (NEEDS & NEED_INDICES) {                                                                              \
    for (int i = 0; i < INDEX_WORDS; i += 2) RAISE(partial[OFFSET(INDICES) + i], words[i]);                \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                          \
    for (int i = 0; i < INDEX_WORDS; i += 2) {                                                             \
      if (partial[OFFSET(INDICES) + i] == words[i]) RAISE(partial[OFFSET(INDICES) + i + 1], words[i + 1]); \
    }                                                                                                      \
  }
