// Counts what a cast of scaled elements would make 0 or bring out of range. Each of these is a range of sizes, which
// stats/core/engine/cast_bounds.hpp computes for the scale. One text for C++ and OpenCL C, included once for each
// dtype.
//
// `bounds` has three words for each row of CASTS: the number of sizes from 1 on that become 0, the first size that is
// out of range, and the number of sizes from there on. The elements are first, first + step, ... below `end`; fewer
// than 2^32.
#define COUNT_CAST(id, name, zero, exponent, ones, bits, stays)                           \
  if (needs & NEED_CAST_##id) {                                                           \
    const UBITS losing = (UBITS)bounds[0], beyond_from = (UBITS)bounds[1];                \
    const UBITS beyond_sizes = (UBITS)bounds[2];                                          \
    u32 lost = 0, beyond = 0;                                                             \
    for (u64 i = first; i < end; i += step) {                                             \
      const UBITS size = ELEMENT_SIZE(LOAD_OF(TILE_SPACE, UBITS, p + i * sizeof(UBITS))); \
      lost += (UBITS)(size - 1) < losing ? (u32)1 : (u32)0;                               \
      beyond += (UBITS)(size - beyond_from) < beyond_sizes ? (u32)1 : (u32)0;             \
    }                                                                                     \
    ADD(partial[OFFSET(id##_UNDERFLOW)], (i64)lost);                                      \
    ADD(partial[OFFSET(id##_OVERFLOW)], (i64)beyond);                                     \
  }                                                                                       \
  bounds += 3;

INLINE void count_casts(WORDS i64* partial, TILE_SPACE const u8* p, const u64 first, const u64 end, const u64 step,
                        TILE_SPACE const u64* bounds, const int needs){CASTS(COUNT_CAST)}
// The same for `n` equal elements.
#define LIFT_CAST(id, name, zero, exponent, ones, bits, stays)                                       \
  if (needs & NEED_CAST_##id) {                                                                      \
    if ((UBITS)(size - 1) < (UBITS)bounds[0]) ADD(partial[OFFSET(id##_UNDERFLOW)], n);               \
    if ((UBITS)(size - (UBITS)bounds[1]) < (UBITS)bounds[2]) ADD(partial[OFFSET(id##_OVERFLOW)], n); \
  }                                                                                                  \
  bounds += 3;

INLINE
    void lift_casts(WORDS i64* partial, const UBITS bits, const i64 n, TILE_SPACE const u64* bounds, const int needs) {
  const UBITS size = ELEMENT_SIZE(bits);
  CASTS(LIFT_CAST)
}

#ifdef __cplusplus
// What sizes mean. An integer's size is |x|. A float's is its bits, and its smallest value is 2^least_power.
struct CastFormat {
  static constexpr u64 finite_last = FINITE_LAST;
  static constexpr bool is_float = IS_FLOAT != 0;
  static constexpr int mantissa_shift = is_float ? int{MANTISSA_SHIFT} : 0;
  static constexpr int least_power = is_float ? FIRST_UNIT + int{CAT(SUM_EXPONENT_, FAMILY)} : 0;
};
#endif
#undef LIFT_CAST
#undef COUNT_CAST
