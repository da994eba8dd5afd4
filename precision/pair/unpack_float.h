// Reads a float of any format as a number.
INLINE void NAME(unpack_into)(number* to, SPACE const u8* p) {
  number x;
#if UNPACKS
  x.bits = (u64)LOAD_ONE(u8, p);
  const u64 bits = (u64)UNPACKED(x.bits, 0);
#else
  x.bits = (u64)LOAD_ONE(UBITS, p);
  const u64 bits = x.bits;
#endif
  x.size = bits & (u64)MAGNITUDE_MASK;
  x.negative = (int)(bits >> SIGN_SHIFT);
  x.kind = x.size > INF_SIZE || (x.negative && x.size == 0 && NAN_IS_MINUS_ZERO) ? KIND_NAN
           : HAS_INF && x.size == INF_SIZE                                     ? KIND_INF
                                                                               : KIND_FINITE;
  const i32 exponent = (i32)(x.size >> MANTISSA_SHIFT);
  const u64 fraction = x.size & (((u64)1 << MANTISSA_SHIFT) - 1);
  x.mantissa = exponent == 0 ? fraction : fraction | (u64)1 << MANTISSA_SHIFT;
  x.exponent = MAX(exponent, 1) - 1 + FIRST_UNIT + CAT(SUM_EXPONENT_, FAMILY);
  // A binary64 is its own value, because 2^exponent may be out of range.
  const f64 size = sizeof(UBITS) == 8 ? AS_F64(x.size) : (f64)x.mantissa * power_of_two(MAX(x.exponent, -1022));
  x.value = x.negative ? -size : size;
  *to = x;
}
