// The accumulators of two tensors that are compared element by element. One text for C++ and OpenCL C, and the only
// list. The layout of their partial, its empty words, its merge and its written form follow from these rows.
//
// A partial consists of 64-bit words: the fields, then the exact sums (precision/exact.h). Partials of different
// elements of the same two tensors merge to the same bits in any order. d is |a - b| rounded to binary64, and s is its
// scale (lift_pair.h).
#ifndef TENSORSTAT_PRECISION_PAIR_H
#define TENSORSTAT_PRECISION_PAIR_H

#include "precision/generated/families.h"

// ROW(id, merge)
//   ADDITION  a count
//   MAXIMUM   the larger word
//   KEY, AT   two successive words: a key and the place of its element (keyed.h)
// A place is ~index, so the larger place is the smaller index. The empty word of a count is 0, of all others the least
// i64.
#define PAIR_FIELD_ROWS(ROW)                                                                        \
  ROW(COUNT, ADDITION)                                                                              \
  ROW(UNEQUAL, ADDITION)            /* of other bits; of two dtypes, of another value            */ \
  ROW(FIRST_UNEQUAL, MAXIMUM)       /* a place                                                   */ \
  ROW(BOTH_NAN, ADDITION)                                                                           \
  ROW(SAME_INF, ADDITION)                                                                           \
  ROW(NAN_ALONE, ADDITION)          /* NaN against a number or Inf                               */ \
  ROW(INF_ALONE, ADDITION)          /* Inf against a finite number or the other Inf              */ \
  ROW(OUTSIDE, ADDITION)            /* beyond the tolerance                                      */ \
  ROW(FIRST_OUTSIDE, MAXIMUM)       /* a place                                                   */ \
  ROW(UNDER_1000TH, ADDITION)       /* |a - b| < |b| / 1000, or 0                                */ \
  ROW(UNDER_200TH, ADDITION)        /* |a - b| < |b| / 200, or 0                                 */ \
  ROW(ULP, MAXIMUM)                 /* steps between a and b: an unsigned number, its first bit flipped */ \
  ROW(PEAK, MAXIMUM)                /* bits of the greatest finite |b|, as binary64              */ \
  ROW(FARTHEST, KEY)                /* bits of the greatest d                                    */ \
  ROW(FARTHEST_AT, AT)                                                                              \
  ROW(RELATIVE, KEY)                /* bits of the greatest d / s                                */ \
  ROW(RELATIVE_AT, AT)

// Exact sums over the elements that are finite in both tensors. ROW(id, words, power, with)
//   words  SUM_WORDS or SQUARE_WORDS of a family (families.h): Double if one of the dtypes has 64 bits, else Float
//   power  its unit is the unit of the family's sum to this power
//   with   passed to every row
#define PAIR_EXACT_ROWS(ROW, with)       \
  ROW(PRODUCTS, SQUARE_WORDS, 2, with)   \
  ROW(SQUARES_A, SQUARE_WORDS, 2, with)  \
  ROW(SQUARES_B, SQUARE_WORDS, 2, with)  \
  ROW(DISTANCES, SUM_WORDS, 1, with) /* of |a - b| */

#define PAIR_FAMILIES(ROW) ROW(Float) ROW(Double)

// What follows from the two dtypes.
typedef struct {
  int same_dtype;  // elements are compared by bits, else by value
  int steps;       // the format in which ULP counts steps: STEPS_*
  int is_wide;     // the words of Double, else of Float
} pair_kind;
enum { STEPS_NONE, STEPS_OWN, STEPS_BINARY32, STEPS_BINARY64 };

// PAIR_COUNT and the like: the word of a field.
#define PAIR_ENUM(id, merge) PAIR_##id,
enum { PAIR_FIELD_ROWS(PAIR_ENUM) PAIR_FIELDS };
#undef PAIR_ENUM

// PAIR_OFFSET_PRODUCTS_Float and the like: the first word of an exact sum.
#define PAIR_ENUM(id, words, power, family) \
  PAIR_OFFSET_##id##_##family, PAIR_LAST_##id##_##family = PAIR_OFFSET_##id##_##family + words##_##family - 1,
#define PAIR_OFFSETS(family) \
  enum { PAIR_FIELDS_END_##family = PAIR_FIELDS - 1, PAIR_EXACT_ROWS(PAIR_ENUM, family) PAIR_WORDS_##family };
PAIR_FAMILIES(PAIR_OFFSETS)
#undef PAIR_OFFSETS
#undef PAIR_ENUM

#endif
