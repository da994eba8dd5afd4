// Converts elements of DTYPE to float32, which holds each value exactly. NaN stays NaN, and Inf keeps its sign. see_bits()
// compares elements of DTYPE by their bits. `count` is a multiple of 16.

// bool is not converted by min(): Oclgrind computes min() of a vector and a scalar wrongly.
#undef STAGE
#if IS_FLOAT
#define STAGE(p) CAT(STAGE_, PART_DTYPE)(p)
#else
#define STAGE(p) (IS_BOOL ? convert_float16((convert_int16(vload16(0, p)) != 0) & 1) : convert_float16(vload16(0, p)))
#endif
#define STAGE_float32(p) vload16(0, (global const f32*)(p))
#define STAGE_bfloat16(p) as_float16(convert_uint16(vload16(0, (global const u16*)(p))) << 16)
#define STAGE_float16(p) floats_of_16(vload16(0, (global const u16*)(p)))

#if IS_CODED
INLINE void NAME(open_stage)(f32* table) {
  for (int code = 0; code < 256; ++code) {
    const UBITS bits = (UBITS)code;
    number x;
    NAME(unpack_into)(&x, (const private u8*)&bits);
    const f32 special = x.kind == KIND_NAN ? NAN : x.negative ? -INFINITY : INFINITY;
    table[code] = x.kind == KIND_FINITE ? (f32)x.value : special;
  }
}
INLINE void NAME(stage)(f32* to, global const u8* from, u32 count, const f32* table) {
  for (u32 i = 0; i < count; ++i) to[i] = table[from[i]];
}
#else
#if IS_FLOAT
typedef u8 NAME(staged);
#else
typedef ORDERED NAME(staged);
#endif
INLINE void NAME(open_stage)(f32* table) {}
INLINE void NAME(stage)(f32* to, global const u8* from, u32 count, const f32* table) {
  global const NAME(staged)* elements = (global const NAME(staged)*)from;
  const u32 step = (u32)(sizeof(UBITS) / sizeof(*elements));
  for (u32 i = 0; i < count; i += 16) vstore16(STAGE(elements + i * step), 0, to + i);
}
#endif

#if BITS_BESIDE
// The smallest size that is not finite.
#define FIRST_SPECIAL (HAS_INF ? (u32)INF_SIZE : (u32)INF_SIZE + 1)
INLINE void NAME(see_bits)(pair_bits* seen, i64* partial, global const u8* of_a, global const u8* of_b, u32 count, u64 index) {
  global const UBITS* a = (global const UBITS*)of_a;
  global const UBITS* b = (global const UBITS*)of_b;
  v_u32 equal = SPLAT(u32, 0);
  for (u32 i = 0; i < count; i += 16) {
    const v_u32 x = convert_uint16(vload16(0, a + i)), y = convert_uint16(vload16(0, b + i));
    COUNT_INTO(u32, equal, x == y);
    if (IS_FLOAT) {
      const v_u32 size_x = x & (u32)MAGNITUDE_MASK, size_y = y & (u32)MAGNITUDE_MASK;
      const v_u32 high = MAX(size_x, size_y), low = MIN(size_x, size_y);
      const v_u32 differ = AS(u32, AS(i32, (x ^ y) << (31 - SIGN_SHIFT)) >> 31);
      v_u32 steps = (high - ((low ^ differ) - differ)) & AS(u32, high < FIRST_SPECIAL);
      if (NAN_IS_MINUS_ZERO) steps &= AS(u32, x != (u32)1 << SIGN_SHIFT) & AS(u32, y != (u32)1 << SIGN_SHIFT);
      seen->steps = MAX(seen->steps, steps);
    }
  }
  const u32 unequal = count - (u32)ADD_LANES(u32, equal);
  seen->unequal += unequal;
  if (unequal == 0 || seen->has_unequal) return;
  seen->has_unequal = 1;
  u32 first = 0;
  while (a[first] == b[first]) ++first;
  RAISE(partial[PAIR_FIRST_UNEQUAL], ~(i64)(index + first));
}
#undef FIRST_SPECIAL
#endif
