// The kernel for a GPU of the 8-bit floats and the packed dtypes. It works as precision/fold/fold_coded.h, with the counts in
// local memory. A work-group folds a slice, and neighbouring lanes read neighbouring 16 bytes. Lanes count in different
// copies, so that equal codes seldom wait for one another. At the end each lane lifts its share of the codes.
// clang-format off: each text needs those before it
#include "kernels-cl/cl/common.cl"
#include "kernels-cl/cl/indices.cl"
#include "kernels-cl/cl/gpu_merge.cl"
#include "kernels-cl/cl/codes.cl"
// clang-format on
#define CODES 256
#define CODE_COPIES 8

INLINE void count_word(local u32* counts, u32 word) {
  for (int k = 0; k < 4; ++k) (void)atomic_add(&counts[word >> 8 * k & 0xff], 1u);
}

// Takes the elements of a byte into the indices. The first is element `index`.
INLINE void place_code(i64* indices, const u32 code, const u32 index) {
#if UNPACKS
  lift_index_some(indices, code, ELEMENTS_A_CODE, index);
#else
  lift_index(indices, (u8)code, index);
#endif
}

// The same for the 16 bytes of a vector. Not unrolled: it would be most of the kernel.
INLINE void place_vector(i64* indices, uint4 vector, u32 index) {
#pragma unroll 1
  for (u32 k = 0; k < 16; ++k) {
    place_code(indices, vector.x & 0xff, index + k * ELEMENTS_A_CODE);
    vector.x >>= 8;
    if (k % 4 == 3) vector = vector.yzwx;
  }
}

kernel __attribute__((reqd_work_group_size(LANES_A_GROUP, 1, 1)))
void fold(global const u8* source, global u8* workspace, u64 slices_at, u64 partials_at) {
  local i64 partial[WORD_COUNT];
  local u32 counts[CODE_COPIES][CODES], fingerprint_words[FINGERPRINT_LOCAL_WORDS];
  const Slice slice = ((global const Slice*)(workspace + slices_at))[get_group_id(0)];
  // The number of full bytes, and of elements in one more byte.
  const u32 lane = (u32)get_local_id(0), count = (u32)(slice.count / ELEMENTS_A_CODE);
  const u32 rest = (u32)(slice.count % ELEMENTS_A_CODE);
  global const u8* begin = source + slice.first_byte;
  local u32* mine = counts[lane % CODE_COPIES];

  for (int word = (int)lane; word < WORD_COUNT; word += LANES_A_GROUP) partial[word] = EMPTY_WORD(FAMILY, word);
  for (int code = (int)lane; code < CODES; code += LANES_A_GROUP) {
    for (int copy = 0; copy < CODE_COPIES; ++copy) counts[copy][code] = 0;
  }
  open_fingerprints(fingerprint_words, lane);
  barrier(CLK_LOCAL_MEM_FENCE);

  const u32 head = min((u32)((0 - (size_t)begin) & 15), count);
  const u32 vector_count = (count - head) / 16, tail = head + vector_count * 16;
  global const uint4* vectors = (global const uint4*)(begin + head);
  i64 indices[INDEX_WORDS];
  open_indices(indices);
  for (u32 i = lane; i < vector_count; i += LANES_A_GROUP) {
    const uint4 vector = vectors[i];
    if (NEEDS & NEED_INDICES) place_vector(indices, vector, (head + i * 16) * ELEMENTS_A_CODE);
    count_word(mine, vector.x);
    count_word(mine, vector.y);
    count_word(mine, vector.z);
    count_word(mine, vector.w);
  }
  for (u32 i = lane; i < head + (count - tail); i += LANES_A_GROUP) {
    const u32 offset = i < head ? i : tail + (i - head);
    (void)atomic_add(&mine[begin[offset]], 1u);
    if (NEEDS & NEED_INDICES) place_code(indices, begin[offset], offset * ELEMENTS_A_CODE);
  }
#if UNPACKS
  if ((NEEDS & NEED_INDICES) && lane == 0 && rest != 0) {
    lift_index_some(indices, begin[count], rest, count * ELEMENTS_A_CODE);
  }
#endif
  barrier(CLK_LOCAL_MEM_FENCE);

  if (HAS_BINS && WRITES_CODES(slice)) {
    for (u32 i = lane; i < count; i += LANES_A_GROUP) CODES_AT(slice, workspace)[i] = begin[i];
  }
  for (i32 code = (i32)lane; code < CODES; code += LANES_A_GROUP) {
    i64 n = 0;
    for (int copy = 0; copy < CODE_COPIES; ++copy) n += counts[copy][code];
    if (n == 0) continue;
    lift_codes(partial, (u32)code, n, NEEDS);
    take_code(slice, workspace, partial, (u32)code, ELEMENTS_A_CODE, (u32)n);
  }
  if (lane == 0 && rest != 0) {
    lift_some(partial, begin[count], rest, 1, NEEDS);
    take_code(slice, workspace, partial, begin[count], rest, 1);
  }
  CLOSE_INDICES(indices, partial)
  CLOSE_FINGERPRINTS(fingerprint_words, begin, count + (rest != 0), lane, partial)
  global i64* shared = (global i64*)(workspace + partials_at) + slice.partial * WORD_COUNT;
  MERGE_PARTIAL(partial, WORD_COUNT, lane, (i64)slice.count, shared)
}
