// The accumulators of a tensor, or of any part of it. One text for C++ and OpenCL C, and the only list. The layout of a
// partial, its empty words, its merge, its written form and what the kernels keep follow from these rows
// (stats/core/engine/accumulator_layout.hpp does this for C++).
//
// A partial consists of 64-bit words: the fields, the exact sums (exact.h), the words of elements.h, the words of
// fingerprints.h, two words for each row of indices.h, and the counts of exponents.h. Two partials merge word by word,
// but the two words of an index merge as one (keyed.h), and fingerprints merge by exclusive or. This is associative and
// commutative, so lanes, work-items, chunks, devices and ranks all merge alike.
#ifndef TENSORSTAT_PRECISION_PARTIAL_H
#define TENSORSTAT_PRECISION_PARTIAL_H

#include "precision/elements.h"
#include "precision/exponents.h"
#include "precision/fingerprints.h"
#include "precision/generated/families.h"
#include "precision/indices.h"

// The needs: what can be requested. ROW(id, its name in stats/core/engine/needs.hpp)
#define NEED_ROWS(ROW)     \
  ROW(EXTREMA, kExtrema)   \
  ROW(SIGNS, kSigns)       \
  ROW(SUM, kSum)           \
  ROW(SQUARES, kSquares)   \
  ROW(ABSOLUTE, kAbsolute) \
  ELEMENT_NEED_ROWS(ROW)   \
  FINGERPRINT_ROWS(ROW)    \
  INDEX_NEED_ROWS(ROW)     \
  EXPONENT_NEED_ROWS(ROW)

// Fields of one word. ROW(id, merge, need)
//   merge  MAXIMUM or ADDITION; those that merge by maximum come first
//   need   the need that keeps it; NOTHING: it is always kept, because it costs nothing
//
// Extrema are integer keys that preserve the order. So neither the sign of zero nor a NaN depends on the instruction
// that compared them: -0 is below +0, and NaN takes no part.
#define FIELD_ROWS(ROW)                                                                  \
  ROW(HIGHEST, MAXIMUM, EXTREMA) /* the largest key of an element that is not NaN  */    \
  ROW(LOWEST, MAXIMUM, EXTREMA)  /* the largest ~key                               */    \
  ROW(COUNT, ADDITION, NOTHING)                                                          \
  ROW(NANS, ADDITION, NOTHING)                                                           \
  ROW(POSITIVE_INFS, ADDITION, NOTHING)                                                  \
  ROW(NEGATIVE_INFS, ADDITION, NOTHING)                                                  \
  ROW(ZEROS, ADDITION, SIGNS)       /* +0 and -0                                      */ \
  ROW(NEGATIVES, ADDITION, SIGNS)   /* below zero, -Inf included                      */ \
  ROW(OVERFLOWS, ADDITION, SQUARES) /* `low` only: tiles with squares beyond the dtype */

// Exact sums over the finite elements, in the order of their needs. Those of power 1 are linear sums: a row is all
// there is to one (sums.h). ROW(id, words, power, need, optional, above, below, with)
//   words     SUM_WORDS or SQUARE_WORDS: how many, which the dtype's family says (families.h)
//   power     its unit is the unit of the family's sum to this power
//   optional  1: its words exist only if this sum, or one after it, is requested
//   above     0 or 1: an element x above 0 adds above * x, or its square
//   below     -1, 0 or 1: an element x below 0 adds below * x, or its square
// `with` is passed to every row. SUM must be the first linear sum: the folds take every element into it.
#define EXACT_ROWS(ROW, with)                           \
  ROW(SUM, SUM_WORDS, 1, SUM, 0, 1, 1, with)            \
  ROW(SQUARES, SQUARE_WORDS, 2, SQUARES, 0, 1, 1, with) \
  ROW(ABSOLUTE, SUM_WORDS, 1, ABSOLUTE, 1, 1, -1, with) /* of |x| */

#define PARTIAL_ENUM(id, name) NEED_BIT_##id,
enum { NEED_ROWS(PARTIAL_ENUM) NEED_BITS };
#undef PARTIAL_ENUM
#define PARTIAL_ENUM(id, name) NEED_##id = 1 << NEED_BIT_##id,
enum { NEED_NOTHING = 0, NEED_ROWS(PARTIAL_ENUM) NEED_ALL = (1 << NEED_BITS) - 1 };
#undef PARTIAL_ENUM

// The needs of all exact sums, of the optional ones, and of all words of elements.h.
#define PARTIAL_EXACT(id, words, power, need, optional, above, below, with) | NEED_##need
#define PARTIAL_OPTIONAL(id, words, power, need, optional, above, below, with) | ((optional) ? NEED_##need : 0)
#define PARTIAL_ELEMENT(id, merge, need, dtypes, fold, with) | NEED_##need
#define PARTIAL_FINGERPRINT(id, name) | NEED_##id
#define PARTIAL_BESIDE(id, merge, need, dtypes, fold, with) PARTIAL_NEED_##fold(need)
#define PARTIAL_NEED_BESIDE(need) | NEED_##need
#define PARTIAL_NEED_WITHIN(need)
enum {
  NEED_EXACT = 0 EXACT_ROWS(PARTIAL_EXACT, ),
  NEED_OPTIONAL = 0 EXACT_ROWS(PARTIAL_OPTIONAL, ),
  NEED_ELEMENTS = 0 ELEMENT_ROWS(PARTIAL_ELEMENT, ),
  NEED_BLOCKS = 0 ELEMENT_ROWS(PARTIAL_BESIDE, ),  // of elements.h, those with BESIDE
  NEED_FINGERPRINTS = 0 FINGERPRINT_ROWS(PARTIAL_FINGERPRINT),
  // The needs for which a family's fold is not specialised.
  NEED_BESIDE = NEED_ELEMENTS | NEED_FINGERPRINTS | NEED_INDICES | NEED_EXPONENTS,
};
#undef PARTIAL_FINGERPRINT
#undef PARTIAL_ELEMENT
#undef PARTIAL_OPTIONAL
#undef PARTIAL_EXACT

// PARTIAL_COUNT and the like: the word of a field. PARTIAL_FIELDS: the number of fields.
#define PARTIAL_ENUM(id, merge, need) PARTIAL_##id,
enum { FIELD_ROWS(PARTIAL_ENUM) PARTIAL_FIELDS };
#undef PARTIAL_ENUM

#define PARTIAL_ONE_OF_MAXIMUM +1
#define PARTIAL_ONE_OF_ADDITION
#define PARTIAL_ENUM(id, merge, need) PARTIAL_ONE_OF_##merge
enum { PARTIAL_MERGED_BY_MAXIMUM = 0 FIELD_ROWS(PARTIAL_ENUM) };
#undef PARTIAL_ENUM

// The index of a word among the words of elements.h. ELEMENT_WORDS: their number.
#define PARTIAL_ENUM(id, merge, need, dtypes, fold, with) ELEMENT_WORD_##id,
enum { ELEMENT_ROWS(PARTIAL_ENUM, ) ELEMENT_WORDS };
#undef PARTIAL_ENUM

// The index of a word among the words of fingerprints.h. FINGERPRINT_WORDS: their number.
#define PARTIAL_ENUM(id, name) FINGERPRINT_WORD_##id,
enum { FINGERPRINT_ROWS(PARTIAL_ENUM) FINGERPRINT_WORDS };
#undef PARTIAL_ENUM

// The index of a row's two words among the words of indices.h. INDEX_WORDS: their number.
#define PARTIAL_ENUM(id, dtypes) INDEX_WORD_##id, INDEX_AT_##id,
enum { INDEX_ROWS(PARTIAL_ENUM) INDEX_WORDS };
#undef PARTIAL_ENUM

// OFFSET_SQUARES_Float and the like: the first word of an exact sum, a word of elements.h, or the first word of
// fingerprints.h, of indices.h or of exponents.h.
#define PARTIAL_ENUM(id, words, power, need, optional, above, below, family) \
  OFFSET_##id##_##family, LAST_##id##_##family = OFFSET_##id##_##family + words##_##family - 1,
#define PARTIAL_ELEMENT(id, merge, need, dtypes, fold, family) OFFSET_##id##_##family,
#define PARTIAL_OFFSETS(family, sum_words, square_words, sum_exponent, exponents)                        \
  enum {                                                                                                 \
    FIELDS_END_##family = PARTIAL_FIELDS - 1,                                                            \
    EXACT_ROWS(PARTIAL_ENUM, family) ELEMENT_ROWS(PARTIAL_ELEMENT, family) OFFSET_FINGERPRINTS_##family, \
    OFFSET_INDICES_##family = OFFSET_FINGERPRINTS_##family + FINGERPRINT_WORDS,                          \
    OFFSET_EXPONENTS_##family = OFFSET_INDICES_##family + INDEX_WORDS,                                   \
    MOST_WORDS_##family = OFFSET_EXPONENTS_##family + EXPONENTS_##family                                 \
  };
FAMILIES(PARTIAL_OFFSETS)
#undef PARTIAL_OFFSETS
#undef PARTIAL_ELEMENT
#undef PARTIAL_ENUM
#define OFFSET(id) CAT(OFFSET_##id##_, FAMILY)

// Whether a word of a family's partial merges by maximum, and the empty word. The words of indices.h count as such:
// they begin so, and they merge so if only one of two partials has elements. `with` is (family, word).
#define FAMILY_OF(family, other) family
#define BESIDE_FAMILY(family, other) other
#define PARTIAL_NO_KEY ((i64)(-0x7fffffffffffffff - 1))
#define PARTIAL_RAISED(id, merge, need, dtypes, fold, with) \
  PARTIAL_RAISED_##merge(BESIDE_FAMILY with, CAT(OFFSET_##id##_, FAMILY_OF with))
#define PARTIAL_RAISED_MAXIMUM(word, raised) || (word) == (raised)
#define PARTIAL_RAISED_ADDITION(word, raised)
#define MERGES_BY_MAXIMUM(family, word)                                                \
  ((word) < PARTIAL_MERGED_BY_MAXIMUM ||                                               \
   ((word) >= CAT(OFFSET_INDICES_, family) && (word) < CAT(OFFSET_EXPONENTS_, family)) \
       ELEMENT_ROWS(PARTIAL_RAISED, (family, word)))
#define EMPTY_WORD(family, word) (MERGES_BY_MAXIMUM(family, word) ? PARTIAL_NO_KEY : 0)

// The number of words of a family's partial that keeps `needs`.
#define PARTIAL_WORDS_OF(id, words, power, need, optional, above, below, with) \
  +((optional) && ((BESIDE_FAMILY with)&NEED_ALL) < NEED_##need ? 0 : (int)CAT(words##_, FAMILY_OF with))
#define PARTIAL_WORD_OF(id, merge, need, dtypes, fold, needs) +(((needs)&NEED_ALL) < NEED_##need ? 0 : 1)
#define PARTIAL_WORDS(family, needs)                                                                        \
  ((int)PARTIAL_FIELDS EXACT_ROWS(PARTIAL_WORDS_OF, (family, needs)) ELEMENT_ROWS(PARTIAL_WORD_OF, needs) + \
   (((needs)&NEED_ALL) < NEED_CRC32 ? 0 : (int)FINGERPRINT_WORDS) +                                         \
   (((needs)&NEED_ALL) < NEED_INDICES ? 0 : (int)INDEX_WORDS) +                                             \
   (((needs)&NEED_EXPONENTS) == 0 ? 0 : (int)CAT(EXPONENTS_, family)))

#endif
