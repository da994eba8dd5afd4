// The kernel for a CPU. One launch folds a batch of slices of the dtype DTYPE and keeps NEEDS. Each work-item folds one
// slice. kernels-cl/cl/gpu.cl does the same on a GPU.
// clang-format off: each text needs those before it
#include "kernels-cl/cl/common.cl"
#if !UNPACKS
#include "precision/fold/fold_elements.h"
#include "precision/fold/fold_exponents.h"
#endif
#ifdef FOLDS
#include FOLD_TEXT
#endif
#if UNPACKS
#include "kernels-cl/cl/codes.cl"
#elif defined(FOLDS)
#include "precision/fold/fold_indices.h"
#endif
// clang-format on

kernel void fold(global const u8* source, global u8* workspace, u64 slices_at, u64 partials_at) {
  const Slice slice = POINTER(const Slice, workspace, slices_at)[get_global_id(0)];
  global const u8* bytes = POINTER(const u8, source, slice.first_byte);
  i64 partial[WORD_COUNT];
  for (int word = 0; word < WORD_COUNT; ++word) partial[word] = EMPTY_WORD(FAMILY, word);
#if UNPACKS
  fold_codes(partial, bytes, slice.count, 0, NEEDS);
  if (SCALED_CASTS != 0 || HAS_BINS) take_codes(slice, workspace, partial, bytes);
  if (NEEDS & NEED_FINGERPRINTS) take_fingerprints(partial, bytes, (slice.count + ELEMENTS_A_CODE - 1) / ELEMENTS_A_CODE);
#else
  u64 i = 0;
  open_bins(slice, workspace);
#ifdef FOLDS
  const bool has_elements = (NEEDS & ELEMENT_NEEDS) != 0, has_indices = (NEEDS & NEED_INDICES) != 0;
  const bool has_exponents = (bool)FOLDS_ELEMENTS && (NEEDS & NEED_EXPONENTS) != 0;
  const u64 whole = slice.count / GROUP * GROUP;
  const u64 block = SCALED_CASTS != 0 || has_elements || has_indices || has_exponents || HAS_BINS ? ELEMENT_BLOCK : whole;
  Fold fold;
  open(&fold, NEEDS);
  Elements beside;
  open_elements(&beside);
  Exponents exponents;
  if (has_exponents) open_exponents(&exponents);
  while (i < whole) {
    const u64 first = i, end = min(first + block, whole);
    while (i < end) {
      global const u8* address = bytes + i * sizeof(UBITS);
      for (size_t line = 0; !ASKS_AHEAD && line < GROUP * sizeof(UBITS); line += 64) {
        PREFETCH(address + line);
      }
      i += fold_some(&fold, partial, address, end - i, address, NEEDS);
    }
    if (has_elements) fold_elements(&beside, partial, bytes + first * sizeof(UBITS), (u32)(end - first), NEEDS);
    if (has_exponents) fold_exponents(&exponents, partial, bytes + first * sizeof(UBITS), (u32)(end - first));
    if (has_indices) fold_indices(&fold, partial, bytes + first * sizeof(UBITS), (u32)(end - first), first);
    take_bins(slice, workspace, bytes, first, end);
    TAKE_CASTS(slice, workspace, partial, bytes, first, end, 1)
  }
  close(&fold, partial, NEEDS);
  if (has_elements) flush_elements(&beside, partial, NEEDS);
  if (has_exponents) close_exponents(&exponents, partial);
#endif
  if (NEEDS & NEED_INDICES) lift_indices(partial + OFFSET(INDICES), bytes + i * sizeof(UBITS), slice.count - i, i);
  take_bins(slice, workspace, bytes, i, slice.count);
  TAKE_CASTS(slice, workspace, partial, bytes, i, slice.count, 1)
  for (; i < slice.count; ++i) lift(partial, bytes + i * sizeof(UBITS), 1, NEEDS);
  if (NEEDS & NEED_FINGERPRINTS) take_fingerprints(partial, bytes, slice.count * sizeof(UBITS));
#endif
  partial[PARTIAL_COUNT] = (i64)slice.count;
  global i64* result = POINTER(i64, workspace, partials_at) + slice.partial * WORD_COUNT;
  for (int word = 0; word < WORD_COUNT; ++word) result[word] = partial[word];
}
