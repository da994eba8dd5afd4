// What is kept of two tensors, element beside element: the accumulators of a pair. One text for C++ and OpenCL C, and
// the only list there is: the layout of a pair's partial, its empty words, how they merge and how it is written down
// follow from these rows.
//
// A partial is a row of 64-bit words: the fields, then the exact sums (precision/exact.h). Two partials of one pair of
// tensors, of other elements each, merge to the same bits in any order. d is |a - b| rounded to binary64, s the scale
// that d is held against (lift_pair.h).
#ifndef TENSORSTAT_PRECISION_PAIR_H
#define TENSORSTAT_PRECISION_PAIR_H

#include "precision/generated/families.h"

// ROW(id, merge)
//   ADDITION  a count
//   MAXIMUM   the larger word
//   KEY, AT   two words that follow each other: a key and the place where it was found (keyed.h)
// A place is ~index, so that the larger place is the smaller index. An empty word is 0 of a count, else the least i64.
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

// Exact sums over the elements of which both are finite. ROW(id, words, power, ...)
//   words  SUM_WORDS or SQUARE_WORDS of the pair's family (families.h): Double where a dtype has 64 bits, else Float
//   power  its unit is that of the family's sum to this power
#define PAIR_EXACT_ROWS(ROW, ...)               \
  ROW(PRODUCTS, SQUARE_WORDS, 2, __VA_ARGS__)   \
  ROW(SQUARES_A, SQUARE_WORDS, 2, __VA_ARGS__)  \
  ROW(SQUARES_B, SQUARE_WORDS, 2, __VA_ARGS__)  \
  ROW(DISTANCES, SUM_WORDS, 1, __VA_ARGS__) /* of |a - b| */

#define PAIR_FAMILIES(ROW) ROW(Float) ROW(Double)

// What the dtypes of a pair say.
typedef struct {
  int same_dtype;  // unequal by bits, else by value
  int steps;       // what ULP counts steps of: STEPS_*
  int is_wide;     // the words are those of Double, else of Float
} pair_kind;
enum { STEPS_NONE, STEPS_OWN, STEPS_BINARY32, STEPS_BINARY64 };

// PAIR_COUNT and the like: a field's word.
#define PAIR_ENUM(id, ...) PAIR_##id,
enum { PAIR_FIELD_ROWS(PAIR_ENUM) PAIR_FIELDS };
#undef PAIR_ENUM

// PAIR_PLACE_PRODUCTS_Float and the like: the first word of an exact sum.
#define PAIR_ENUM(id, words, power, family) \
  PAIR_PLACE_##id##_##family, PAIR_LAST_##id##_##family = PAIR_PLACE_##id##_##family + words##_##family - 1,
#define PAIR_PLACES(family) \
  enum { PAIR_FIELDS_END_##family = PAIR_FIELDS - 1, PAIR_EXACT_ROWS(PAIR_ENUM, family) PAIR_WORDS_##family };
PAIR_FAMILIES(PAIR_PLACES)
#undef PAIR_PLACES
#undef PAIR_ENUM

#endif
