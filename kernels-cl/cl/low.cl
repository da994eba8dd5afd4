// The kernel of `low`, for float dtypes. A slice consists of whole tiles (precision/low/low_tile.h); the tensor's last tile may
// be shorter. On a CPU a work-item takes a slice. On a GPU the lanes take the tiles in turn and add in local memory.
// clang-format off: each text needs those before it
#include "kernels-cl/cl/common.cl"
#include "kernels-cl/cl/indices.cl"
#include "kernels-cl/cl/gpu_merge.cl"
#include "precision/low/low.h"
#include "precision/low/low_tile.h"
// clang-format on

INLINE void fold_tile(WORDS i64* partial, global const u8* bytes, u64 first, u64 count) {
  low_tile(partial, bytes + first * sizeof(UBITS), (u32)min((u64)TILE, count - first), NEEDS);
}

kernel void fold(global const u8* source, global u8* workspace, u64 slices_at, u64 partials_at) {
  const Slice slice = POINTER(const Slice, workspace, slices_at)[get_group_id(0)];
  global const u8* bytes = POINTER(const u8, source, slice.first_byte);
  global i64* result = POINTER(i64, workspace, partials_at) + slice.partial * WORD_COUNT;
  const int lane = (int)get_local_id(0), lanes = (int)get_local_size(0);
  WORDS i64 partial[WORD_COUNT];
  for (int word = lane; word < WORD_COUNT; word += lanes) partial[word] = EMPTY_WORD(FAMILY, word);
#ifdef SHAPE_GROUP
  local u32 fingerprint_words[FINGERPRINT_LOCAL_WORDS], bin_counts[BIN_LOCAL_WORDS];
  open_fingerprints(fingerprint_words, (u32)lane);
  open_bins(bin_counts, (u32)lane);
#else
  open_bins(slice, workspace);
#endif
  barrier(CLK_LOCAL_MEM_FENCE);
  i64 indices[INDEX_WORDS];
  open_indices(indices);
  for (u64 i = (u64)lane * TILE; i < slice.count; i += (u64)lanes * TILE) {
    fold_tile(partial, bytes, i, slice.count);
    if (NEEDS & NEED_INDICES) lift_indices(indices, bytes + i * sizeof(UBITS), min((u64)TILE, slice.count - i), i);
  }
  TAKE_CASTS(slice, workspace, partial, bytes, (u64)lane, slice.count, (u64)lanes)
  CLOSE_INDICES(indices, partial)
#ifdef SHAPE_SLICE
  if (NEEDS & NEED_FINGERPRINTS) take_fingerprints(partial, bytes, slice.count * sizeof(UBITS));
  take_bins(slice, workspace, bytes, 0, slice.count);
#else
  CLOSE_FINGERPRINTS(fingerprint_words, bytes, (u32)(slice.count * sizeof(UBITS)), (u32)lane, partial)
  CLOSE_BINS(slice, workspace, bin_counts, (global const UBITS*)bytes, (u32)slice.count, (u32)lane)
#endif
  barrier(CLK_LOCAL_MEM_FENCE);
  if (lane == 0) {
    partial[PARTIAL_COUNT] = (i64)slice.count;
    CARRY_SUMS(FAMILY, NEEDS, partial)
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int word = lane; word < WORD_COUNT; word += lanes) {
#ifdef SHAPE_SLICE
    result[word] = partial[word];
#else
    MERGE_WORD(result, word, partial)
#endif
  }
}
