// The end of a GPU's kernels. All lanes have added to the work-group's partial in local memory. Its first `words` words are
// merged into `result`, which several slices may share. This is a macro, because the compiler of pocl 3.1 crashes on functions
// with barriers and atomics.
#define MERGE_PARTIAL(partial, words, lane, count, result)                \
  barrier(CLK_LOCAL_MEM_FENCE);                                           \
  if (lane == 0) {                                                        \
    partial[PARTIAL_COUNT] = count;                                       \
    CARRY_SUMS(FAMILY, NEEDS, partial)                                    \
  }                                                                       \
  barrier(CLK_LOCAL_MEM_FENCE);                                           \
  global i64* merged = result;                                            \
  for (int word = (int)lane; word < (words); word += LANES_A_GROUP) {     \
    if (MERGES_BY_MAXIMUM(FAMILY, word)) {                                \
      atom_max(&merged[word], partial[word]);                             \
    } else if (partial[word] != 0) {                                      \
      atom_add(&merged[word], partial[word]);                             \
    }                                                                     \
  }
