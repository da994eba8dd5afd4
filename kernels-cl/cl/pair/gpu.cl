// The kernel of two tensors for a GPU. A work-group folds a slice, and each work-item is a lane. Neighbouring lanes read
// neighbouring elements. Each lane has its own words. At the end they merge into the work-group's words in local memory. Each
// slice has its own partial, because the index beside a key does not merge word by word.
#include "kernels-cl/cl/pair/common.cl"

#define MEET_ADDITION(word) (void)atom_add(&shared[word], partial[word]);
#define MEET_MAXIMUM(word) (void)atom_max(&shared[word], partial[word]);
#define MEET_KEY(word) MEET_MAXIMUM(word)
#define MEET_AT(word)
#define MEET_FIELD(id, merge) MEET_##merge(PAIR_##id)
// Among the lanes with the largest key, the lowest index wins.
#define SETTLE_ADDITION(word)
#define SETTLE_MAXIMUM(word)
#define SETTLE_KEY(word) (void)atom_max(&shared[(word) + 1], shared[word] == partial[word] ? partial[(word) + 1] : PAIR_LEAST);
#define SETTLE_AT(word)
#define SETTLE_FIELD(id, merge) SETTLE_##merge(PAIR_##id)

kernel __attribute__((reqd_work_group_size(LANES_A_GROUP, 1, 1)))
void fold(global const u8* source_a, global const u8* source_b, global u8* workspace, u64 slices_at, u64 partials_at,
          u64 rtol, u64 atol, u64 greater) {
  local i64 shared[PAIR_WORD_COUNT];
  const PairSlice slice = POINTER(const PairSlice, workspace, slices_at)[get_group_id(0)];
  global const u8* a = POINTER(const u8, source_a, slice.first_a);
  global const u8* b = POINTER(const u8, source_b, slice.first_b);
  const pair_tolerance tolerance = {AS_F64(rtol), AS_F64(atol), (int)greater};
  const pair_kind kind = {SAME_DTYPE, STEPS, IS_WIDE};
  const int lane = (int)get_local_id(0);
  i64 partial[PAIR_WORD_COUNT];
  CLEAR_PAIR(partial);
  for (int word = lane; word < PAIR_WORD_COUNT; word += LANES_A_GROUP) shared[word] = partial[word];
  for (u64 i = (u64)lane; i < slice.count; i += LANES_A_GROUP) LIFT_PAIR_AT(partial, a, b, i, slice.first_element, tolerance);
  barrier(CLK_LOCAL_MEM_FENCE);
  PAIR_FIELD_ROWS(MEET_FIELD)
  for (int word = PAIR_SUMS_BEGIN; word < PAIR_WORD_COUNT; ++word) {
    if (partial[word] != 0) (void)atom_add(&shared[word], partial[word]);
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  PAIR_FIELD_ROWS(SETTLE_FIELD)
  barrier(CLK_LOCAL_MEM_FENCE);
  global i64* result = POINTER(i64, workspace, partials_at) + slice.partial * PAIR_WORD_COUNT;
  for (int word = lane; word < PAIR_WORD_COUNT; word += LANES_A_GROUP) result[word] = shared[word];
}
