// n equal elements of an int64 or uint64 into a partial: integer arithmetic only, and the definition that the fold
// must agree with. One text for C++ and OpenCL C, included once a dtype.
#include "precision/lift/lift_sums.h"

INLINE void lift(WORDS i64* partial, SPACE const u8* p, const i64 n, const int needs) {
  const i64 x = LOAD_ONE(i64, p);
  lift_elements(partial, (u64)x, n, needs);
  raise_extrema(partial, x ^ KEY_FLIP, x ^ KEY_FLIP);
  if (x == 0) ADD(partial[PARTIAL_ZEROS], n);
  const int is_negative = IS_SIGNED && x < 0;
  if (is_negative) ADD(partial[PARTIAL_NEGATIVES], n);
  lift_sums(partial, is_negative ? 0 - (u64)x : (u64)x, is_negative, n, 0, needs);
}
