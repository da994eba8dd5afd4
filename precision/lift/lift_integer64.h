// One element of a int64 or uint64 into a partial: integer arithmetic only, and the definition that the fold
// must agree with. One text for C++ and OpenCL C, included once a dtype.
#define KEY_FLIP (IS_SIGNED ? (i64)0 : PARTIAL_NO_KEY)  // orders uint64 as a signed key

INLINE void NAME(lift)(WORDS i64* partial, SPACE const u8* p, const int needs) {
  const i64 x = LOAD_ONE(i64, p);
  NAME(lift_elements)(partial, (u64)x, 1, needs);
  raise_extrema(partial, x ^ KEY_FLIP, x ^ KEY_FLIP);
  if (x == 0) ADD(partial[PARTIAL_ZEROS], 1);
  if (IS_SIGNED && x < 0) ADD(partial[PARTIAL_NEGATIVES], 1);
  if (IS_SIGNED) {
    deposit(partial + PLACE(SUM), x, 0);
  } else {
    deposit_unsigned(partial + PLACE(SUM), (u64)x, 0);
  }
  const u64 size = IS_SIGNED && x < 0 ? 0 - (u64)x : (u64)x;
  deposit_square(partial + PLACE(SQUARES), size, 0);
  if (needs & NEED_ABSOLUTE) deposit_unsigned(partial + PLACE(ABSOLUTE), size, 0);
}
