// The end of a GPU's kernels. All lanes have added to the work-group's partial in local memory. Its first `words` words are
// merged into `result`, which several slices may share. These are macros, because the compiler of pocl 3.1 crashes on functions
// with barriers and atomics.
//
// In `result`, words that merge by maximum are biased by 2^63 and compared without sign. So memory of zeros is an empty partial.
#define MERGE_WORD(merged, word, partial)                                              \
  if (MERGES_BY_MAXIMUM(FAMILY, word)) {                                               \
    atom_max((global u64*)&(merged)[word], (u64)(partial)[word] ^ (u64)PARTIAL_NO_KEY); \
  } else if ((partial)[word] != 0) {                                                   \
    atom_add(&(merged)[word], (partial)[word]);                                        \
  }

#define MERGE_PARTIAL(partial, words, lane, count, result)                \
  barrier(CLK_LOCAL_MEM_FENCE);                                           \
  if (lane == 0) {                                                        \
    partial[PARTIAL_COUNT] = count;                                       \
    CARRY_SUMS(FAMILY, NEEDS, partial)                                    \
  }                                                                       \
  barrier(CLK_LOCAL_MEM_FENCE);                                           \
  global i64* merged = result;                                            \
  for (int word = (int)lane; word < (words); word += LANES_A_GROUP) {     \
    MERGE_WORD(merged, word, partial)                                     \
  }
