// The codes of elements. Each code is a bin of quantiles (stats/core/engine/quantile_bins.hpp). One text for C++ and
// OpenCL C.
//
// The code of an element of 8 or 16 bits is its bits: the stored ones for e8m0, the unpacked ones for the packed
// dtypes. The code of a float32 or float64 is its upper bits. The code of a wider integer is a code of |x| and a bit
// for the sign.
#ifndef TENSORSTAT_PRECISION_CODES_H
#define TENSORSTAT_PRECISION_CODES_H

// Their need, kQuantiles of stats/core/engine/needs.hpp. The counts are kept beside a partial's words.
#define NEED_QUANTILES (1 << 29)

#define CODE_SHIFT_OF_FLOAT(bytes) ((bytes) == 4 ? 16 : (bytes) == 8 ? 45 : 0)
#define WHOLE_BITS 9  // the bits of |x| after the highest one that are in the code of a wide integer

// CODE_OF, CODE_COUNT and CODE_TYPE are in formats.h.

// These have no branches: a branch on random signs is mispredicted.
#define SIGNS_OF(high) (IS_SIGNED ? (u32)((i32)(high) >> 31) : (u32)0)
#define ALL_IF(condition) (0 - (u32)((condition) ? 1 : 0))

// The code of |x|: the position of its highest bit and the bits after it, as in a binary32. A binary32 has 24 bits, and
// a code needs the first 10. The code of 0 is 0. This uses only 32-bit operations, because vectors have them.
INLINE u32 code_of_size32(const u32 size) {
  const u32 is_long = ALL_IF(size >> 24 != 0);
  const u32 bits = AS_U32((f32)(i32)((size >> 8 & is_long) | (size & ~is_long)));
  const u32 code = (bits >> (23 - WHOLE_BITS)) - ((u32)127 << WHOLE_BITS) + 1 + ((u32)8 << WHOLE_BITS & is_long);
  return code & ALL_IF(size != 0);
}
INLINE u32 code_of_halves(const u32 high, const u32 low) {
  const u32 is_long = ALL_IF(high != 0), is_longer = ALL_IF(high >> 22 != 0), between = is_long & ~is_longer;
  const u32 first = (low & ~is_long) | ((high << 10 | low >> 22) & between) | (high & is_longer);
  return code_of_size32(first) + ((u32)22 << WHOLE_BITS & between) + ((u32)32 << WHOLE_BITS & is_longer);
}
INLINE u32 code_of_size(const u64 size) { return code_of_halves((u32)(size >> 32), (u32)size); }
// The code of a signed number. Each bit of `signs` is its sign.
INLINE u32 code_of_whole64(const u64 bits, const u32 signs) {
  const u32 high = (u32)(bits >> 32) ^ signs, low = ((u32)bits ^ signs) - signs;
  return code_of_halves(high + (signs & 1 & ALL_IF(low == 0)), low) | (signs & (u32)1 << 15);
}
INLINE u32 code_of_whole32(const u32 bits, const u32 signs) {
  return code_of_size32((bits ^ signs) - signs) | (signs & (u32)1 << 15);
}

#endif
