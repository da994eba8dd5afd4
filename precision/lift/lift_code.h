// The code of an element (precision/codes.h), for C++. Included once for each dtype.
struct Code {
  using Bits = UBITS;
  static constexpr bool is_byte = IS_CODED != 0, takes_work = !IS_FLOAT && BITS >= 32;
  [[gnu::always_inline]] u32 operator()(const Bits bits) const { return CODE_OF(bits); }
};
