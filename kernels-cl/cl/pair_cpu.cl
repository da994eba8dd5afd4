// The kernel of two tensors for a CPU: one launch folds a batch of slices of DTYPE_A beside DTYPE_B; a work-item a slice.
// kernels-cl/cl/pair_gpu.cl is the same for a GPU.

kernel void fold(global const u8* source_a, global const u8* source_b, global u8* workspace, u64 slices_at, u64 partials_at,
                 u64 rtol, u64 atol, u64 greater) {
  const PairSlice slice = POINTER(const PairSlice, workspace, slices_at)[get_global_id(0)];
  global const u8* a = POINTER(const u8, source_a, slice.first_a);
  global const u8* b = POINTER(const u8, source_b, slice.first_b);
  const pair_tolerance tolerance = {AS_F64(rtol), AS_F64(atol), (int)greater};
  const pair_kind kind = {SAME_DTYPE, STEPS, IS_WIDE};
  i64 partial[PAIR_WORD_COUNT];
  CLEAR_PAIR(partial);
  for (u64 i = 0; i < slice.count; ++i) LIFT_PAIR_AT(partial, a, b, i, slice.first_element, tolerance);
  global i64* result = POINTER(i64, workspace, partials_at) + slice.partial * PAIR_WORD_COUNT;
  for (int word = PAIR_WORD_COUNT - 1; word >= 0; --word) result[word] = partial[word];
}
