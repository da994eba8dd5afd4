// n equal elements of a bool or of an integer of up to 32 bits into a partial: integer arithmetic only, and the
// definition that the fold must agree with. One text for C++ and OpenCL C, included once a dtype.
#include "precision/lift/lift_sums.h"

INLINE void lift(WORDS i64* partial, SPACE const u8* p, const i64 n, const int needs) {
  const i64 stored = (i64)LOAD_ONE(ORDERED, p);
  lift_elements(partial, (UBITS)stored, n, needs);
  const i64 value = IS_BOOL ? stored != 0 : stored;
  raise_extrema(partial, value, value);
  if (value == 0) ADD(partial[PARTIAL_ZEROS], n);
  if (value < 0) ADD(partial[PARTIAL_NEGATIVES], n);
  lift_sums(partial, (u64)(value < 0 ? -value : value), value < 0, n, 0, needs);
}
