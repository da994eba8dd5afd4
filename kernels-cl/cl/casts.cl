// Counts casts at a scale other than 1. SCALED_CASTS has their needs. The slice's elements are read a second time for them
// (precision/lift/count_casts.h), and the folds count no casts.
#define TAKE_CASTS(slice, workspace, partial, bytes, first, end, step)                                         \
  if (SCALED_CASTS != 0) {                                                                                     \
    count_casts(partial, bytes, first, end, step, POINTER(const u64, workspace, (slice).casts), SCALED_CASTS); \
  }
