// Accumulators of one word that each element enters by itself: how many elements meet a condition, or the largest of a
// key. One text for C++ and OpenCL C, and all there is to such an accumulator: the lifts, the folds of every family and
// the GPU's kernel take it from these rows, the layout of a partial and its merge too (partial.h).
//
// They are kept where they are asked, and have no words and no instructions elsewhere.
#ifndef TENSORSTAT_PRECISION_ELEMENTS_H
#define TENSORSTAT_PRECISION_ELEMENTS_H

// What asks for them. ROW(id, name of the same bit in <tensorstat/partial.hpp>)
#define ELEMENT_NEED_ROWS(ROW)    \
  ROW(LEAST_SIZE, kLeastSize)     \
  ROW(SUBNORMALS, kSubnormals)    \
  ROW(MINUS_ZEROS, kMinusZeros)   \
  ROW(FINITE, kFinite)            \
  ROW(CAST_E4M3FN, kCastE4m3fn)   \
  ROW(CAST_E5M2, kCastE5m2)       \
  ROW(CAST_FLOAT16, kCastFloat16) \
  ROW(CAST_BFLOAT16, kCastBfloat16)

// ROW(id, merge, need, of, fold, ...), in the order of the needs
//   merge  MAXIMUM: ELEMENT_<id> is the key, the bits of a signed number of the element's size; the least such number
//          is no key. ADDITION: it is the condition of what is counted
//   need   what asks for it
//   of     whether a dtype has any, else the word stays empty. 1: every one; IS_FLOAT: all but integers and bool
//   fold   BESIDE: of vectors it is folded beside the family's own fold (fold_elements.h), in the blocks that may have
//          any: ELEMENT_MAY_<id>; WITHIN: that one keeps it
// What follows the row's name is handed to every row.
#define ELEMENT_ROWS(ROW, ...)                                                                        \
  ROW(LEAST_SIZE, MAXIMUM, LEAST_SIZE, 1, BESIDE, __VA_ARGS__)  /* of the smallest |x| but 0       */ \
  ROW(SUBNORMALS, ADDITION, SUBNORMALS, IS_FLOAT, BESIDE, __VA_ARGS__)                                \
  ROW(MINUS_ZEROS, ADDITION, MINUS_ZEROS, IS_FLOAT, BESIDE, __VA_ARGS__)                              \
  ROW(FINITE_HIGHEST, MAXIMUM, FINITE, IS_FLOAT, WITHIN, __VA_ARGS__) /* HIGHEST, of finite elements */ \
  ROW(FINITE_LOWEST, MAXIMUM, FINITE, IS_FLOAT, WITHIN, __VA_ARGS__)  /* LOWEST, of finite elements  */ \
  CASTS(CAST_ELEMENT_ROWS, ROW, __VA_ARGS__)

// Of each narrower float two counts: of the elements but 0 that a cast to it makes 0, and of the finite ones that it brings
// out of its range. A cast rounds to nearest, ties to even.
#define CAST_ELEMENT_ROWS(id, name, zero, exponent, ones, bits, stays, ROW, ...)       \
  ROW(id##_UNDERFLOW, ADDITION, CAST_##id, LOST_COUNT(id) != 0, BESIDE, __VA_ARGS__) \
  ROW(id##_OVERFLOW, ADDITION, CAST_##id, BEYOND_COUNT(id) != 0, BESIDE, __VA_ARGS__)

// ROW(id, name as the catalog has it, zero, exponent, ones, bits, stays, ...)
//   zero   2^zero, and what is smaller, becomes 0: the tie between 0 and the least positive value is the even one's, 0
//   exponent, ones, bits   2^exponent * (1 + ones / 2^bits) is the tie between the greatest value and the next one, were
//          there one. 1 of `stays`: the greatest value is the even one of both
#define CASTS(ROW, ...)                                               \
  ROW(E4M3FN, E4m3fn, -10, 8, 13, 4, 1, __VA_ARGS__)      /* 464   */ \
  ROW(E5M2, E5m2, -17, 15, 7, 3, 0, __VA_ARGS__)          /* 61440 */ \
  ROW(FLOAT16, Float16, -25, 15, 2047, 11, 0, __VA_ARGS__) /* 65520 */ \
  ROW(BFLOAT16, Bfloat16, -134, 127, 255, 8, 0, __VA_ARGS__)
#define CAST_ENUM(id, name, zero, exponent, ones, bits, stays, ...)                                      \
  CAST_ZERO_##id = zero, CAST_EXPONENT_##id = exponent, CAST_ONES_##id = ones, CAST_BITS_##id = bits, \
  CAST_STAYS_##id = stays,
enum { CASTS(CAST_ENUM, ) };
#undef CAST_ENUM

// Both are a range of sizes of a dtype: LOST_COUNT and BEYOND_FIRST (formats.h).

// Each is written for an element and for a vector of them: U is UBITS or a vector of it, `bits` are as they are stored,
// and `size` is |x| as the bits of an unsigned number, which of a NaN is larger than of Inf. A NaN that only a size of
// its own would raise, among NaNs alone, does no harm: the value is NaN then.
#define ELEMENT_SIGN ((UBITS)((UBITS)1 << SIGN_SHIFT))
#define ELEMENT_LEAST_SIZE(U, bits, size) ((U)(ELEMENT_SIGN - (size)))  // no key, of 0
#define ELEMENT_SUBNORMALS(U, bits, size) ((U)((size) - (UBITS)1) < (UBITS)(((UBITS)1 << MANTISSA_SHIFT) - 1))
#define ELEMENT_MINUS_ZEROS(U, bits, size) ((U)(((bits) ^ ELEMENT_SIGN) | (size)) == (UBITS)0)
#define ELEMENT_LOST(U, size, id) ((U)((size) - (UBITS)1) < LEAST_1(LOST_COUNT(id)))
#define ELEMENT_BEYOND(U, size, id) ((U)((size) - (UBITS)BEYOND_FIRST(id)) < LEAST_1(BEYOND_COUNT(id)))
// Of a dtype that has none this is not asked, but compiled: nothing is below 0, and compilers say so.
#define LEAST_1(x) ((UBITS)((UBITS)(x) > 1 ? (UBITS)(x) : (UBITS)1))
#define ELEMENT_E4M3FN_UNDERFLOW(U, bits, size) ELEMENT_LOST(U, size, E4M3FN)
#define ELEMENT_E4M3FN_OVERFLOW(U, bits, size) ELEMENT_BEYOND(U, size, E4M3FN)
#define ELEMENT_E5M2_UNDERFLOW(U, bits, size) ELEMENT_LOST(U, size, E5M2)
#define ELEMENT_E5M2_OVERFLOW(U, bits, size) ELEMENT_BEYOND(U, size, E5M2)
#define ELEMENT_FLOAT16_UNDERFLOW(U, bits, size) ELEMENT_LOST(U, size, FLOAT16)
#define ELEMENT_FLOAT16_OVERFLOW(U, bits, size) ELEMENT_BEYOND(U, size, FLOAT16)
#define ELEMENT_BFLOAT16_UNDERFLOW(U, bits, size) ELEMENT_LOST(U, size, BFLOAT16)
#define ELEMENT_BFLOAT16_OVERFLOW(U, bits, size) ELEMENT_BEYOND(U, size, BFLOAT16)
// WITHIN: for one element only, and its key as a word, as the ends of a format without Inf leave no other free.
#define ELEMENT_IS_FINITE(size) ((size) < INF_SIZE || (!HAS_INF && (size) == INF_SIZE))
#define ELEMENT_KEY(bits) ((i64)(SBITS)((bits) & ELEMENT_SIGN ? (UBITS)((bits) ^ MAGNITUDE_MASK) : (bits)))
#define ELEMENT_FINITE_HIGHEST(U, bits, size) (ELEMENT_IS_FINITE(size) ? ELEMENT_KEY(bits) : PARTIAL_NO_KEY)
#define ELEMENT_FINITE_LOWEST(U, bits, size) (ELEMENT_IS_FINITE(size) ? ~ELEMENT_KEY(bits) : PARTIAL_NO_KEY)

// Whether elements may be among some whose smallest size is `low`, whose largest is `high`, and whose smallest but 0 is
// `near` + 1; `near` is all ones where every one is 0.
#define ELEMENT_MAY_LEAST_SIZE(low, near, high) 0  // fold_elements.h has it of `near`
#define ELEMENT_MAY_SUBNORMALS(low, near, high) ((near) < (UBITS)(((UBITS)1 << MANTISSA_SHIFT) - 1))
#define ELEMENT_MAY_MINUS_ZEROS(low, near, high) ((low) == 0)
#define ELEMENT_MAY_BE_LOST(near, id) ((near) < LEAST_1(LOST_COUNT(id)))
#define ELEMENT_MAY_BE_BEYOND(high, id) ((high) >= LEAST_1(BEYOND_FIRST(id)))
#define ELEMENT_MAY_E4M3FN_UNDERFLOW(low, near, high) ELEMENT_MAY_BE_LOST(near, E4M3FN)
#define ELEMENT_MAY_E4M3FN_OVERFLOW(low, near, high) ELEMENT_MAY_BE_BEYOND(high, E4M3FN)
#define ELEMENT_MAY_E5M2_UNDERFLOW(low, near, high) ELEMENT_MAY_BE_LOST(near, E5M2)
#define ELEMENT_MAY_E5M2_OVERFLOW(low, near, high) ELEMENT_MAY_BE_BEYOND(high, E5M2)
#define ELEMENT_MAY_FLOAT16_UNDERFLOW(low, near, high) ELEMENT_MAY_BE_LOST(near, FLOAT16)
#define ELEMENT_MAY_FLOAT16_OVERFLOW(low, near, high) ELEMENT_MAY_BE_BEYOND(high, FLOAT16)
#define ELEMENT_MAY_BFLOAT16_UNDERFLOW(low, near, high) ELEMENT_MAY_BE_LOST(near, BFLOAT16)
#define ELEMENT_MAY_BFLOAT16_OVERFLOW(low, near, high) ELEMENT_MAY_BE_BEYOND(high, BFLOAT16)

#endif
