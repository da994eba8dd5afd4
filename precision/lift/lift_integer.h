// n equal elements of a bool or of an integer of up to 32 bits into a partial: integer arithmetic only, and the definition
// that the fold must agree with. One text for C++ and OpenCL C, included once a dtype.
INLINE void lift(WORDS i64* partial, SPACE const u8* p, const i64 n, const int needs) {
  const i64 stored = (i64)LOAD_ONE(ORDERED, p);
  lift_elements(partial, (UBITS)stored, n, needs);
  const i64 value = IS_BOOL ? stored != 0 : stored;
  raise_extrema(partial, value, value);
  if (value == 0) ADD(partial[PARTIAL_ZEROS], n);
  if (value < 0) ADD(partial[PARTIAL_NEGATIVES], n);
  const i64 size = value < 0 ? -value : value;
  deposit(partial + PLACE(SUM), value * n, 0);
  deposit_squares(partial + PLACE(SQUARES), (u64)size, n, 0);
  if (needs & NEED_ABSOLUTE) deposit(partial + PLACE(ABSOLUTE), size * n, 0);
}
