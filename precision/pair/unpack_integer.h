// Reads a bool or an integer as a number.
INLINE void NAME(unpack_into)(number* to, SPACE const u8* p) {
  number x;
  x.bits = (u64)LOAD_ONE(UBITS, p);
  x.kind = KIND_FINITE;
  const i64 stored = (i64)(ORDERED)x.bits;
  x.negative = IS_SIGNED && stored < 0;
  x.mantissa = IS_BOOL ? (u64)(stored != 0) : x.negative ? 0 - (u64)stored : (u64)stored;
  x.exponent = 0;
  x.size = 0;  // only floats have steps
  x.value = x.negative ? -(f64)x.mantissa : (f64)x.mantissa;
  *to = x;
}
