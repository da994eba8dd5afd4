// The kernel of two tensors for a CPU. One launch folds a batch of slices of DTYPE_A and DTYPE_B. Each work-item folds one
// slice. kernels-cl/cl/pair/gpu.cl does the same on a GPU.
//
// If float32 holds both dtypes, blocks are converted to float32 in the nearest cache, and precision/pair/fold_pair.h folds
// them there. Elements after the last whole group are lifted, and so are all elements of other dtypes.
#include "kernels-cl/cl/pair/common.cl"

#ifdef PAIR_FOLDS
// Folds whole groups. Returns how many elements it took.
INLINE u64 fold_groups(i64* partial, global const u8* a, global const u8* b, const PairSlice slice, pair_tolerance tolerance) {
  const pair_source source = {PAIR_MANTISSA, !BITS_BESIDE && IS_FLOAT32 && SAME_DTYPE, !SAME_DTYPE,
                              BITS_BESIDE ? 0 : STEPS != STEPS_NONE, 0, tolerance.greater};
  const u64 whole = slice.count / GROUP * GROUP;
  f32 table_a[256], table_b[256], staged_a[PAIR_BLOCK], staged_b[PAIR_BLOCK];
  CAT(open_stage_, DTYPE_A)(table_a);
  CAT(open_stage_, DTYPE_B)(table_b);
  pair_bits bits = {SPLAT(u32, 0), 0, 0};
  pair_fold fold;
  open_pair(&fold, tolerance, source.mantissa);
  for (u64 i = 0; i < whole; i += PAIR_BLOCK) {
    const u32 count = (u32)min((u64)PAIR_BLOCK, whole - i);
    const u64 index = slice.first_element + i;
    global const u8* from_a = a + i * SIZE_A;
    global const u8* from_b = b + i * SIZE_B;
    for (u32 line = 0; line < count * SIZE_A; line += 64) PREFETCH(from_a + line);
    for (u32 line = 0; line < count * SIZE_B; line += 64) PREFETCH(from_b + line);
    CAT(stage_, DTYPE_A)(staged_a, from_a, count, table_a);
    CAT(stage_, DTYPE_B)(staged_b, from_b, count, table_b);
#if BITS_BESIDE
    CAT(see_bits_, DTYPE_A)(&bits, partial, from_a, from_b, count, index);
#endif
    for (u32 k = 0; k < count; k += GROUP) {
      fold_pair_group(&fold, partial, (const u8*)(staged_a + k), (const u8*)(staged_b + k), index + k, source);
    }
  }
  close_pair(&fold, partial, source);
  if (BITS_BESIDE && whole != 0) {
    ADD(partial[PAIR_UNEQUAL], (i64)bits.unequal);
    if (STEPS != STEPS_NONE) RAISE(partial[PAIR_ULP], PAIR_ULP_WORD((u64)MAX_LANE(u32, bits.steps)));
  }
  ADD(partial[PAIR_COUNT], (i64)whole);
  return whole;
}
#endif

kernel void fold(global const u8* source_a, global const u8* source_b, global u8* workspace, u64 slices_at, u64 partials_at,
                 u64 rtol, u64 atol, u64 greater) {
  const PairSlice slice = POINTER(const PairSlice, workspace, slices_at)[get_global_id(0)];
  global const u8* a = POINTER(const u8, source_a, slice.first_a);
  global const u8* b = POINTER(const u8, source_b, slice.first_b);
  const pair_tolerance tolerance = {AS_F64(rtol), AS_F64(atol), (int)greater};
  const pair_kind kind = {SAME_DTYPE, STEPS, IS_WIDE};
  i64 partial[PAIR_WORD_COUNT];
  CLEAR_PAIR(partial);
  u64 i = 0;
#ifdef PAIR_FOLDS
  i = fold_groups(partial, a, b, slice, tolerance);
#endif
  for (; i < slice.count; ++i) LIFT_PAIR_AT(partial, a, b, i, slice.first_element, tolerance);
  global i64* result = POINTER(i64, workspace, partials_at) + slice.partial * PAIR_WORD_COUNT;
  for (int word = PAIR_WORD_COUNT - 1; word >= 0; --word) result[word] = partial[word];  // the count is last
}
