// The kernel for a GPU of the 8-bit floats: precision/fold/fold_coded.h with the counts in local memory. A work-group
// a slice; neighbours read neighbouring 16 bytes. Lanes count into different copies, so that equal codes seldom wait
// for one another; at the end a lane lifts the codes that are its own.
#define CODES 256
#define CODE_COPIES 8

INLINE void count_word(local u32* counts, u32 word) {
  for (int k = 0; k < 4; ++k) (void)atomic_add(&counts[word >> 8 * k & 0xff], 1u);
}

kernel __attribute__((reqd_work_group_size(LANES_A_GROUP, 1, 1)))
void fold(global const u8* source, global u8* workspace, u64 slices_at, u64 partials_at) {
  local i64 partial[WORD_COUNT];
  local u32 counts[CODE_COPIES][CODES];
  const Slice slice = ((global const Slice*)(workspace + slices_at))[get_group_id(0)];
  const u32 lane = (u32)get_local_id(0), count = (u32)slice.count;
  global const u8* begin = source + slice.first_byte;
  local u32* mine = counts[lane % CODE_COPIES];

  for (int word = (int)lane; word < WORD_COUNT; word += LANES_A_GROUP) partial[word] = EMPTY_WORD(FAMILY, word);
  for (int code = (int)lane; code < CODES; code += LANES_A_GROUP) {
    for (int copy = 0; copy < CODE_COPIES; ++copy) counts[copy][code] = 0;
  }
  barrier(CLK_LOCAL_MEM_FENCE);

  const u32 head = min((u32)((0 - (size_t)begin) & 15), count);
  const u32 vector_count = (count - head) / 16, tail = head + vector_count * 16;
  global const uint4* vectors = (global const uint4*)(begin + head);
  for (u32 i = lane; i < vector_count; i += LANES_A_GROUP) {
    const uint4 vector = vectors[i];
    count_word(mine, vector.x);
    count_word(mine, vector.y);
    count_word(mine, vector.z);
    count_word(mine, vector.w);
  }
  for (u32 i = lane; i < head; i += LANES_A_GROUP) (void)atomic_add(&mine[begin[i]], 1u);
  for (u32 i = tail + lane; i < count; i += LANES_A_GROUP) (void)atomic_add(&mine[begin[i]], 1u);
  barrier(CLK_LOCAL_MEM_FENCE);

  for (i32 code = (i32)lane; code < CODES; code += LANES_A_GROUP) {
    i64 n = 0;
    for (int copy = 0; copy < CODE_COPIES; ++copy) n += counts[copy][code];
    if (n != 0) NAME(lift_codes)(partial, code, n, NEEDS);
  }
  MERGE_PARTIAL(partial, lane, count, (global i64*)(workspace + partials_at) + slice.partial * WORD_COUNT)
}
