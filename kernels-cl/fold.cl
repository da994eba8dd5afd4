// The kernel: one launch folds a whole batch of slices of one dtype, DTYPE, keeping NEEDS.

// `count` elements from `first_byte` of the source, into partial number `partial`.
typedef struct {
  u64 first_byte, count, partial;
} Slice;

#define PARTIAL_WORDS ((int)PARTIAL_SUM + (int)SUM_WORDS + (int)CAT(SQUARE_WORDS_, FAMILY))
#define EMPTY_WORD(word) ((word) < PARTIAL_MERGED_BY_MAXIMUM ? PARTIAL_NO_KEY : 0)

#ifdef SHAPE_SLICE
kernel void fold(global const u8* source, global const Slice* slices, global i64* partials) {
  const Slice slice = slices[get_global_id(0)];
  global const u8* bytes = source + slice.first_byte;
  i64 partial[PARTIAL_WORDS];
  for (int word = 0; word < PARTIAL_WORDS; ++word) partial[word] = EMPTY_WORD(word);
  u64 i = 0;
#ifdef FOLDS
  NAME(fold) fold;
  NAME(open)(&fold, NEEDS);
  for (; i + GROUP <= slice.count; i += GROUP) {
    NAME(fold_group)(&fold, partial, bytes + i * sizeof(UBITS), NEEDS);
  }
  NAME(close)(&fold, partial, NEEDS);
#endif
  for (; i < slice.count; ++i) NAME(lift)(partial, bytes + i * sizeof(UBITS));
  partial[PARTIAL_COUNT] = (i64)slice.count;
  global i64* result = partials + slice.partial * PARTIAL_WORDS;
  for (int word = 0; word < PARTIAL_WORDS; ++word) result[word] = partial[word];
}
#endif

#ifdef SHAPE_GROUP
// The host has set the partials to those of no elements.
kernel void fold(global const u8* source, global const Slice* slices, global i64* partials) {
  const Slice slice = slices[get_group_id(0)];
  global const UBITS* elements = (global const UBITS*)(source + slice.first_byte);
  const u32 lane = get_local_id(0), lanes = get_local_size(0);
  local i64 partial[PARTIAL_WORDS];
  for (int word = lane; word < PARTIAL_WORDS; word += lanes) partial[word] = EMPTY_WORD(word);
  barrier(CLK_LOCAL_MEM_FENCE);
  UBITS group[GROUP];
  u64 i = 0;
#ifdef FOLDS
  NAME(fold) fold;
  NAME(open)(&fold, NEEDS);
  for (; i + GROUP * lanes <= slice.count; i += GROUP * lanes) {
    for (int k = 0; k < GROUP; ++k) group[k] = elements[i + k * lanes + lane];
    NAME(fold_group)(&fold, partial, (const private u8*)group, NEEDS);
  }
  NAME(close)(&fold, partial, NEEDS);
#endif
  for (i += lane; i < slice.count; i += lanes) {
    group[0] = elements[i];
    NAME(lift)(partial, (const private u8*)group);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lane == 0) {
    partial[PARTIAL_COUNT] = (i64)slice.count;
    carry_words(partial + PARTIAL_SUM, SUM_WORDS);
    carry_words(partial + SQUARES, CAT(SQUARE_WORDS_, FAMILY));
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  global i64* result = partials + slice.partial * PARTIAL_WORDS;
  for (int word = lane; word < PARTIAL_WORDS; word += lanes) {
    if (word < PARTIAL_MERGED_BY_MAXIMUM) {
      atom_max(&result[word], partial[word]);
    } else if (partial[word] != 0) {
      atom_add(&result[word], partial[word]);
    }
  }
}
#endif
