// The partial: what is kept of a tensor, or of any part of it. One text for C++ and OpenCL C.
//
// A partial is a row of 64-bit words. Two partials merge word by word: the first two by maximum, all
// others by addition. Merging is therefore associative and commutative, and lanes, work-items, chunks,
// devices and ranks all merge alike. After the fields below come the words of the sum, then those of
// the sum of squares (exact.h); a dtype's family says how many (families.h).
#ifndef TENSORSTAT_PRECISION_PARTIAL_H
#define TENSORSTAT_PRECISION_PARTIAL_H

// Extrema are kept as order-preserving integer keys, so that neither the sign of zero nor the place of
// a NaN depends on which instruction compared them: -0 is below +0, NaN takes no part.
#define TENSORSTAT_FIELDS(ROW)                                               \
  ROW(HIGHEST)       /* the largest key of an element that is not NaN     */ \
  ROW(LOWEST)        /* the largest ~key                                  */ \
  ROW(COUNT)                                                                 \
  ROW(NANS)                                                                  \
  ROW(POSITIVE_INFS)                                                         \
  ROW(NEGATIVE_INFS)                                                         \
  ROW(ZEROS)         /* +0 and -0                                         */ \
  ROW(NEGATIVES)     /* below zero, -Inf included                         */ \
  ROW(OVERFLOWS)     /* `low` only: tiles whose squares left the dtype    */

#define PARTIAL_ENUM(id) PARTIAL_##id,
enum { TENSORSTAT_FIELDS(PARTIAL_ENUM) PARTIAL_SUM };
#undef PARTIAL_ENUM

#define PARTIAL_MERGED_BY_MAXIMUM 2
#define PARTIAL_NO_KEY ((i64)(-0x7fffffffffffffff - 1))

// What the pass keeps beyond the counts that cost nothing; a category's row in the catalog says which.
enum { NEED_EXTREMA = 1, NEED_SIGNS = 2, NEED_SUM = 4, NEED_SQUARES = 8 };

#endif
