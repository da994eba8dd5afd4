// Casts at a scale other than 1: those of the needs in SCALED_CASTS. A second reading of the slice's elements counts them
// (precision/lift/count_casts.h). The folds count no casts then.
#define TAKE_CASTS(slice, workspace, partial, bytes, first, end, step)                                         \
  if (SCALED_CASTS != 0) {                                                                                     \
    count_casts(partial, bytes, first, end, step, POINTER(const u64, workspace, (slice).casts), SCALED_CASTS); \
  }
