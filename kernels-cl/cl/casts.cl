// Casts at a scale that is not 1, SCALED_CASTS of the needs: a slice's elements are read once more for them
// (precision/lift/count_casts.h). The folds count none then.
#define TAKE_CASTS(slice, workspace, partial, bytes, first, end, step)                                         \
  if (SCALED_CASTS != 0) {                                                                                     \
    count_casts(partial, bytes, first, end, step, POINTER(const u64, workspace, (slice).casts), SCALED_CASTS); \
  }
