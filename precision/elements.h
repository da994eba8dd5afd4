// Accumulators of one word that each element enters by itself: the number of elements that meet a condition, or the
// largest key. One text for C++ and OpenCL C. A row is all there is to such an accumulator: the lifts, the folds of
// every family, the GPU's kernel, the layout of a partial and its merge (partial.h) follow from it.
//
// An accumulator that is not requested costs no memory and no instructions.
#ifndef TENSORSTAT_PRECISION_ELEMENTS_H
#define TENSORSTAT_PRECISION_ELEMENTS_H

// Their needs. ROW(id, its name in stats/core/engine/needs.hpp)
#define ELEMENT_NEED_ROWS(ROW)    \
  ROW(LEAST_SIZE, kLeastSize)     \
  ROW(SUBNORMALS, kSubnormals)    \
  ROW(MINUS_ZEROS, kMinusZeros)   \
  ROW(FINITE, kFinite)            \
  ROW(CAST_E4M3FN, kCastE4m3fn)   \
  ROW(CAST_E5M2, kCastE5m2)       \
  ROW(CAST_FLOAT16, kCastFloat16) \
  ROW(CAST_BFLOAT16, kCastBfloat16)

// ROW(id, merge, need, dtypes, fold, with), in the order of the needs
//   merge  MAXIMUM: ELEMENT_<id> is the key: the bits of a signed number as wide as an element. The least such number
//   is no
//          key. ADDITION: ELEMENT_<id> is the condition for counting an element
//   need   the need that keeps it
//   dtypes whether a dtype has such elements; otherwise the word stays empty. 1: every dtype; IS_FLOAT: all but
//   integers and
//          bool
//   fold   BESIDE: vectors are folded after the family's fold (fold_elements.h), in blocks with ELEMENT_MAY_<id>.
//          WITHIN: the family's fold keeps it
// `with` is passed to every row.
#define ELEMENT_ROWS(ROW, with)                                                                  \
  ROW(LEAST_SIZE, MAXIMUM, LEAST_SIZE, 1, BESIDE, with) /* the smallest |x| but 0          */    \
  ROW(SUBNORMALS, ADDITION, SUBNORMALS, IS_FLOAT, BESIDE, with)                                  \
  ROW(MINUS_ZEROS, ADDITION, MINUS_ZEROS, IS_FLOAT, BESIDE, with)                                \
  ROW(FINITE_HIGHEST, MAXIMUM, FINITE, IS_FLOAT, WITHIN, with) /* HIGHEST, of finite elements */ \
  ROW(FINITE_LOWEST, MAXIMUM, FINITE, IS_FLOAT, WITHIN, with)  /* LOWEST, of finite elements  */ \
  CAST_ELEMENT_ROWS(E4M3FN, ROW, with)                                                           \
  CAST_ELEMENT_ROWS(E5M2, ROW, with)                                                             \
  CAST_ELEMENT_ROWS(FLOAT16, ROW, with)                                                          \
  CAST_ELEMENT_ROWS(BFLOAT16, ROW, with)

// For each narrower float of CASTS two counts: of the elements but 0 that a cast to it makes 0, and of the finite
// elements that become larger than its range. A cast rounds to nearest, ties to even.
#define CAST_ELEMENT_ROWS(id, ROW, with)                                      \
  ROW(id##_UNDERFLOW, ADDITION, CAST_##id, LOST_COUNT(id) != 0, BESIDE, with) \
  ROW(id##_OVERFLOW, ADDITION, CAST_##id, BEYOND_COUNT(id) != 0, BESIDE, with)

// ROW(id, name as the catalog has it, zero, exponent, ones, bits, stays)
//   zero   2^zero and smaller numbers become 0. 2^zero is the tie between 0 and the least positive value, and 0 is even
//   exponent, ones, bits   2^exponent * (1 + ones / 2^bits) is the tie between the greatest value and the next one, if
//   there
//          were one
//   stays  1: the greatest value is even, so the tie becomes the greatest value
#define CASTS(ROW)                                        \
  ROW(E4M3FN, E4m3fn, -10, 8, 13, 4, 1)       /* 464   */ \
  ROW(E5M2, E5m2, -17, 15, 7, 3, 0)           /* 61440 */ \
  ROW(FLOAT16, Float16, -25, 15, 2047, 11, 0) /* 65520 */ \
  ROW(BFLOAT16, Bfloat16, -134, 127, 255, 8, 0)
#define CAST_ENUM(id, name, zero, exponent, ones, bits, stays)                                        \
  CAST_ZERO_##id = zero, CAST_EXPONENT_##id = exponent, CAST_ONES_##id = ones, CAST_BITS_##id = bits, \
  CAST_STAYS_##id = stays,
enum { CASTS(CAST_ENUM) };
#undef CAST_ENUM

// The elements of each count have a range of sizes: LOST_COUNT and BEYOND_FIRST (formats.h).

// Each definition is for an element and for a vector of elements. U is UBITS or a vector of it. `bits` are the stored
// bits. `size` is |x| as the bits of an unsigned number; NaN is larger than Inf. If all elements are NaN, their sizes
// may enter LEAST_SIZE; that does no harm, because the statistic is NaN then.
#define ELEMENT_SIGN ((UBITS)((UBITS)1 << SIGN_SHIFT))
#define ELEMENT_LEAST_SIZE(U, bits, size) ((U)(ELEMENT_SIGN - (size)))  // of 0 this is no key
#define ELEMENT_SUBNORMALS(U, bits, size) ((U)((size) - (UBITS)1) < (UBITS)(((UBITS)1 << MANTISSA_SHIFT) - 1))
#define ELEMENT_MINUS_ZEROS(U, bits, size) ((U)(((bits) ^ ELEMENT_SIGN) | (size)) == (UBITS)0)
#define ELEMENT_LOST(U, size, id) ((U)((size) - (UBITS)1) < LEAST_1(LOST_COUNT(id)))
#define ELEMENT_BEYOND(U, size, id) ((U)((size) - (UBITS)BEYOND_FIRST(id)) < LEAST_1(BEYOND_COUNT(id)))
// For dtypes without such elements this is compiled, but never used. LEAST_1 avoids "comparison is always false".
#define LEAST_1(x) ((UBITS)((UBITS)(x) > 1 ? (UBITS)(x) : (UBITS)1))
#define ELEMENT_E4M3FN_UNDERFLOW(U, bits, size) ELEMENT_LOST(U, size, E4M3FN)
#define ELEMENT_E4M3FN_OVERFLOW(U, bits, size) ELEMENT_BEYOND(U, size, E4M3FN)
#define ELEMENT_E5M2_UNDERFLOW(U, bits, size) ELEMENT_LOST(U, size, E5M2)
#define ELEMENT_E5M2_OVERFLOW(U, bits, size) ELEMENT_BEYOND(U, size, E5M2)
#define ELEMENT_FLOAT16_UNDERFLOW(U, bits, size) ELEMENT_LOST(U, size, FLOAT16)
#define ELEMENT_FLOAT16_OVERFLOW(U, bits, size) ELEMENT_BEYOND(U, size, FLOAT16)
#define ELEMENT_BFLOAT16_UNDERFLOW(U, bits, size) ELEMENT_LOST(U, size, BFLOAT16)
#define ELEMENT_BFLOAT16_OVERFLOW(U, bits, size) ELEMENT_BEYOND(U, size, BFLOAT16)
// WITHIN: only for one element. The key is a whole word, because a format without Inf has no spare key.
#define ELEMENT_IS_FINITE(size) ((size) < INF_SIZE || (!HAS_INF && (size) == INF_SIZE))
#define ELEMENT_KEY(bits) ((i64)(SBITS)((bits)&ELEMENT_SIGN ? (UBITS)((bits) ^ MAGNITUDE_MASK) : (bits)))
#define ELEMENT_FINITE_HIGHEST(U, bits, size) (ELEMENT_IS_FINITE(size) ? ELEMENT_KEY(bits) : PARTIAL_NO_KEY)
#define ELEMENT_FINITE_LOWEST(U, bits, size) (ELEMENT_IS_FINITE(size) ? ~ELEMENT_KEY(bits) : PARTIAL_NO_KEY)

// Whether a block may have such elements. `low` is its smallest size, `high` its largest, and `near` + 1 its smallest
// but 0. If all sizes are 0, `near` is all ones.
#define ELEMENT_MAY_LEAST_SIZE(low, near, high) 0  // fold_elements.h takes it from `near`
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
