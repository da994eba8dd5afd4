// Accumulators of one word that each element enters by itself: how many elements meet a condition, or the largest of a
// key. One text for C++ and OpenCL C, and all there is to such an accumulator: the lifts, the folds of every family and
// the GPU's kernel take it from these rows, the layout of a partial and its merge too (partial.h).
//
// They are kept where they are asked, and have no words and no instructions elsewhere.
#ifndef TENSORSTAT_PRECISION_ELEMENTS_H
#define TENSORSTAT_PRECISION_ELEMENTS_H

// What asks for them. ROW(id, name of the same bit in <tensorstat/partial.hpp>)
#define ELEMENT_NEED_ROWS(ROW)     \
  ROW(LEAST_SIZE, kLeastSize)      \
  ROW(SUBNORMALS, kSubnormals)     \
  ROW(MINUS_ZEROS, kMinusZeros)    \
  ROW(FINITE, kFinite)

// ROW(id, merge, need, of, fold, ...), in the order of the needs
//   merge  MAXIMUM: ELEMENT_<id> is the key, the bits of a signed number of the element's size; the least such number
//          is no key. ADDITION: it is the condition of what is counted
//   need   what asks for it
//   of     IS_FLOAT: of integers and bool the word stays empty; or 1: of every dtype
//   fold   BESIDE: of vectors it is folded beside the family's own fold (fold_elements.h); WITHIN: that one keeps it
// What follows the row's name is handed to every row.
#define ELEMENT_ROWS(ROW, ...)                                                                        \
  ROW(LEAST_SIZE, MAXIMUM, LEAST_SIZE, 1, BESIDE, __VA_ARGS__)  /* of the smallest |x| but 0       */ \
  ROW(SUBNORMALS, ADDITION, SUBNORMALS, IS_FLOAT, BESIDE, __VA_ARGS__)                                \
  ROW(MINUS_ZEROS, ADDITION, MINUS_ZEROS, IS_FLOAT, BESIDE, __VA_ARGS__)                              \
  ROW(FINITE_HIGHEST, MAXIMUM, FINITE, IS_FLOAT, WITHIN, __VA_ARGS__) /* HIGHEST, of finite elements */ \
  ROW(FINITE_LOWEST, MAXIMUM, FINITE, IS_FLOAT, WITHIN, __VA_ARGS__)  /* LOWEST, of finite elements  */

// Each is written for an element and for a vector of them: U is UBITS or a vector of it, `bits` are as they are stored,
// and `size` is |x| as the bits of an unsigned number, which of a NaN is larger than of Inf. A NaN that only a size of
// its own would raise, among NaNs alone, does no harm: the value is NaN then.
#define ELEMENT_SIGN ((UBITS)((UBITS)1 << SIGN_SHIFT))
#define ELEMENT_LEAST_SIZE(U, bits, size) ((U)(ELEMENT_SIGN - (size)))  // no key, of 0
#define ELEMENT_SUBNORMALS(U, bits, size) ((U)((size) - (UBITS)1) < (UBITS)(((UBITS)1 << MANTISSA_SHIFT) - 1))
#define ELEMENT_MINUS_ZEROS(U, bits, size) ((U)(((bits) ^ ELEMENT_SIGN) | (size)) == (UBITS)0)
// WITHIN: for one element only, and its key as a word, as the ends of a format without Inf leave no other free.
#define ELEMENT_IS_FINITE(size) ((size) < INF_SIZE || (!HAS_INF && (size) == INF_SIZE))
#define ELEMENT_KEY(bits) ((i64)(SBITS)((bits) & ELEMENT_SIGN ? (UBITS)((bits) ^ MAGNITUDE_MASK) : (bits)))
#define ELEMENT_FINITE_HIGHEST(U, bits, size) (ELEMENT_IS_FINITE(size) ? ELEMENT_KEY(bits) : PARTIAL_NO_KEY)
#define ELEMENT_FINITE_LOWEST(U, bits, size) (ELEMENT_IS_FINITE(size) ? ~ELEMENT_KEY(bits) : PARTIAL_NO_KEY)

#endif
