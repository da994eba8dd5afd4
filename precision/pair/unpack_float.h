// One float of any format, as a number.

// lift_float knows of Inf by its bits alone, and so does this; doubled, they leave an odd number free to stand between
// the largest finite value and a NaN, for the formats that have no Inf.
#define UNPACK_TWICE_INF() CAT(UNPACK_TWICE_INF_, FAMILY)()
#define UNPACK_TWICE_INF_Float() (2 * (u64)INF_BITS)
#define UNPACK_TWICE_INF_Double() (2 * (u64)INF_BITS)
#define UNPACK_TWICE_INF_Coded() ((u64)TWICE_INF_BITS)
#define UNPACK_IS_LONE_NAN(bits) CAT(UNPACK_IS_LONE_NAN_, FAMILY)(bits)
#define UNPACK_IS_LONE_NAN_Float(bits) 0
#define UNPACK_IS_LONE_NAN_Double(bits) 0
#define UNPACK_IS_LONE_NAN_Coded(bits) (NEGATIVE_ZERO_IS_NAN && (bits) == 0x80)

INLINE number NAME(unpack)(SPACE const u8* p) {
  number x;
  x.bits = (u64)LOAD_ONE(UBITS, p);
  x.size = x.bits & (u64)MAGNITUDE_MASK;
  x.negative = (int)(x.bits >> SIGN_SHIFT);
  x.kind = 2 * x.size > UNPACK_TWICE_INF() || UNPACK_IS_LONE_NAN(x.bits) ? KIND_NAN
           : 2 * x.size == UNPACK_TWICE_INF()                          ? KIND_INF
                                                                       : KIND_FINITE;
  const i32 exponent = (i32)(x.size >> MANTISSA_SHIFT);
  const u64 fraction = x.size & (((u64)1 << MANTISSA_SHIFT) - 1);
  x.mantissa = exponent == 0 ? fraction : fraction | (u64)1 << MANTISSA_SHIFT;
  x.exponent = MAX(exponent, 1) - 1 + FIRST_UNIT + CAT(SUM_EXPONENT_, FAMILY);
  // A binary64 is its own value: 2^exponent may be none.
  const f64 size = sizeof(UBITS) == 8 ? AS_F64(x.size) : (f64)x.mantissa * power_of_two(MAX(x.exponent, -1022));
  x.value = x.negative ? -size : size;
  return x;
}
