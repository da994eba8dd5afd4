// One element of an 8-bit float, or many with the same code, into a partial: integer arithmetic only, and the
// definition that the fold must agree with. One text for C++ and OpenCL C, included once a dtype.

// `n` elements whose bits are `code`. lift_float knows of Inf by its bits alone; twice the bits leave an odd number
// free to stand between the largest finite value and a NaN, for the formats that have no Inf.
INLINE void NAME(lift_codes)(WORDS i64* partial, const i32 code, const i64 n, const int needs) {
  NAME(lift_elements)(partial, (UBITS)code, n, needs);
  const i32 sign = code >> 7, stored = code & 0x7f;
  const i32 magnitude = NEGATIVE_ZERO_IS_NAN && code == 0x80 ? 0x80 : stored;
  if (!lift_float(partial, sign != 0 ? ~(i64)stored : (i64)stored, 2 * magnitude, TWICE_INF_BITS, n)) return;
  const i32 exponent = magnitude >> MANTISSA_SHIFT;
  const i32 fraction = magnitude & ((1 << MANTISSA_SHIFT) - 1);
  const i64 mantissa = exponent == 0 ? fraction : fraction | (1 << MANTISSA_SHIFT);
  const u32 position = (u32)(MAX(exponent, 1) - 1 + FIRST_UNIT);
  deposit(partial + PLACE(SUM), sign != 0 ? -mantissa * n : mantissa * n, position);
  deposit(partial + PLACE(SQUARES), mantissa * mantissa * n, 2 * position);
  if (needs & NEED_ABSOLUTE) deposit(partial + PLACE(ABSOLUTE), mantissa * n, position);
}

INLINE void NAME(lift)(WORDS i64* partial, SPACE const u8* p, const int needs) {
  NAME(lift_codes)(partial, (i32)LOAD_ONE(u8, p), 1, needs);
}
