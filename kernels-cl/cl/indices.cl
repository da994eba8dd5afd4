// The words of precision/indices.h of a lane, in registers, and how those of all lanes of a work-group become the shared
// partial's: first the largest keys, then of the lanes that have them the lowest index. A macro, as MERGE_PARTIAL is.
INLINE void open_indices(i64* words) {
#pragma unroll
  for (int i = 0; i < INDEX_WORDS; ++i) words[i] = PARTIAL_NO_KEY;
}

#define CLOSE_INDICES(words, partial)                                                                       \
  if (NEEDS & NEED_INDICES) {                                                                               \
    for (int i = 0; i < INDEX_WORDS; i += 2) RAISE(partial[PLACE(INDICES) + i], words[i]);                  \
    barrier(CLK_LOCAL_MEM_FENCE);                                                                           \
    for (int i = 0; i < INDEX_WORDS; i += 2) {                                                              \
      if (partial[PLACE(INDICES) + i] == words[i]) RAISE(partial[PLACE(INDICES) + i + 1], words[i + 1]);    \
    }                                                                                                       \
  }
