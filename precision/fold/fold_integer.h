// The fold of bool and the integers up to 32 bits. One text for C++ and OpenCL C, included once for each dtype.
//
// Each width adds in the narrowest lanes that stay exact:
//
//   bool     only zeros are counted. Each other byte is 1, so every sum is the number of elements less the zeros.
//   8 bits   sums and squares of neighbours in 32-bit lanes: four squares stay below 2^18
//   16 bits  sums in 32-bit lanes; two squares are at most 2^31 and go into two 64-bit sums
//   32 bits  two 64-bit sums for the elements, and two for their squares
//
// Two 64-bit sums take pairs of 32-bit numbers. `whole` adds the 64-bit lane modulo 2^64, and `high` adds its upper
// number. whole - (high << 32) is the sum of the lower numbers if that is below 2^64. This takes one operation less
// than masking both.
#include "precision/fold/fold_terms.h"

// The number of vectors until the narrow lanes are emptied. 8-bit counters hold 255, and 2^14 * 2^16 stays in 31 bits.
#define DRAIN_STEPS (sizeof(UBITS) == 1 ? 128 : 1 << 14)

// uint16 is multiplied as x - 2^15, which suits the instruction that squares and adds pairs of int16. int32 is added as
// x + 2^31, so that the pairs are unsigned. close() corrects both.
#define LESS_BIAS (sizeof(UBITS) == 2 && !IS_SIGNED)
#define MORE_BIAS (sizeof(UBITS) == 4 && IS_SIGNED)
// SUM adds elements. The other linear sums add sizes |x|, which have the unsigned type and its bias. For unsigned
// dtypes the sizes are the elements.
#define HAS_SIZES (IS_SIGNED && (needs & NEED_LINEAR & ~NEED_SUM) != 0)
#define NEED_PLAIN_SUM (IS_SIGNED ? (int)NEED_SUM : (int)NEED_LINEAR)
#define BIAS ((UBITS)(LESS_BIAS || MORE_BIAS ? (UBITS)1 << SIGN_SHIFT : 0))

typedef struct {
  v_u64 whole, high;
} Pairs;

INLINE void add_pairs(Pairs* to, v_u64 pairs) {
  to->whole += pairs;
  to->high += pairs >> 32;
}

// Deposits `times` the lower numbers at 0, and `times` the upper ones at `upper`: at 0 for two numbers, at 32 for one
// of 64 bits.
INLINE void deposit_pairs(WORDS i64* words, Pairs from, u32 upper, i64 times) {
  const u64 high = (u64)ADD_LANES(u64, from.high);
  deposit(words, times * (i64)((u64)ADD_LANES(u64, from.whole) - (high << 32)), 0);
  deposit(words, times * (i64)high, upper);
}

// A linear sum: what is in narrow lanes, what was in them, and what is in pairs.
typedef struct {
  v_i32 lanes;
  i64 total;  // of lanes that were emptied
  Pairs pairs;
} Linear;

INLINE void clear_linear(Linear* linear) {
  linear->lanes = SPLAT(i32, 0);
  linear->total = 0;
  linear->pairs.whole = linear->pairs.high = SPLAT(u64, 0);
}

INLINE void empty_lanes(Linear* linear) {
  linear->total += ADD_LANES(i32, linear->lanes);
  linear->lanes = SPLAT(i32, 0);
}

typedef struct {
  Linear linear[LINEAR_SUMS];
  v_u32 square;
  Pairs squares;
  VECTOR_OF(ORDERED) top, bottom;
  VECTOR_OF(UBITS) zeros, negatives;
  i64 square_total;
  u64 zeros_total, negatives_total, elements;
  u32 steps;
} Fold;

// Adds one vector of elements, for each FACTOR, the type in which they are multiplied.
#define ADD_BYTES(type, x)                                                     \
  if (needs & NEED_PLAIN_SUM) fold->linear[LINEAR_SUM].lanes += SUMS(type, x); \
  if (needs & NEED_SQUARES) fold->square += SQUARE_SUMS(type, x);
#define ADD_VECTOR_u8(x) ADD_BYTES(u8, x)
#define ADD_VECTOR_i8(x) ADD_BYTES(i8, x)
#define ADD_VECTOR_i16(x)                                                                             \
  {                                                                                                   \
    const v_i16 factor = AS(i16, (x) ^ (ORDERED)BIAS);                                                \
    if (needs & (NEED_PLAIN_SUM | NEED_SQUARES)) fold->linear[LINEAR_SUM].lanes += SUMS(i16, factor); \
    if (needs & NEED_SQUARES) add_pairs(&fold->squares, AS(u64, SQUARE_SUMS(i16, factor)));           \
  }
#define ADD_WORDS(type, x)                                                                              \
  if (needs & NEED_PLAIN_SUM) add_pairs(&fold->linear[LINEAR_SUM].pairs, AS(u64, (x) ^ (ORDERED)BIAS)); \
  if (needs & NEED_SQUARES) {                                                                           \
    UNROLL                                                                                              \
    for (int k = 0; k < LANES(u32) / LANES(u64); ++k) {                                                 \
      add_pairs(&fold->squares, SQUARE_LOW(type, AS(u64, x) >> (u64)(32 * k)));                         \
    }                                                                                                   \
  }
#define ADD_VECTOR_i32(x) ADD_WORDS(i32, x)
#define ADD_VECTOR_u32(x) ADD_WORDS(u32, x)
#define ADD_VECTOR(x) CAT(ADD_VECTOR_, FACTOR)(x)

// Adds one vector of sizes, for each type.
#define ADD_SIZES_u8(to, x) (to)->lanes += SUMS(u8, x);
#define ADD_SIZES_u16(to, x) (to)->lanes += SUMS(i16, AS(i16, (x) ^ (u16)0x8000));
#define ADD_SIZES_u32(to, x) add_pairs(&(to)->pairs, AS(u64, x));
#define ADD_SIZES(to, x) CAT(ADD_SIZES_, UBITS)(to, x)

// Empties the narrow lanes.
INLINE void drain(Fold* fold) {
  FOR_EACH_LINEAR(empty_lanes(&fold->linear[sum]);)
  fold->square_total += ADD_LANES(u32, fold->square);
  fold->zeros_total += (u64)ADD_LANES(UBITS, fold->zeros);
  fold->negatives_total += (u64)ADD_LANES(UBITS, fold->negatives);
  fold->square = SPLAT(u32, 0);
  fold->zeros = fold->negatives = SPLAT(UBITS, 0);
  fold->steps = 0;
}

INLINE void open(Fold* fold, const int needs) {
  (void)needs;
  FOR_EACH_LINEAR(clear_linear(&fold->linear[sum]);)
  fold->square = SPLAT(u32, 0);
  fold->squares.whole = fold->squares.high = SPLAT(u64, 0);
  fold->zeros = fold->negatives = SPLAT(UBITS, 0);
  fold->top = SPLAT(ORDERED, LOWEST_OF(ORDERED));
  fold->bottom = SPLAT(ORDERED, (ORDERED)~LOWEST_OF(ORDERED));
  fold->square_total = 0;
  fold->zeros_total = fold->negatives_total = fold->elements = 0;
  fold->steps = 0;
}

// Deposits the sum of the elements.
INLINE void deposit_sum(const Fold* fold, WORDS i64* words) {
  const i64 n = (i64)fold->elements;
  deposit_pairs(words, fold->linear[LINEAR_SUM].pairs, 0, 1);
  deposit(words, fold->linear[LINEAR_SUM].total, 0);
  if (LESS_BIAS) deposit(words, n, SIGN_SHIFT);
  if (MORE_BIAS) deposit(words, -n, SIGN_SHIFT);
}

// Deposits a linear sum of sizes.
INLINE void deposit_sizes(const Fold* fold, WORDS i64* words, const int sum) {
  const i64 times = factor_of_sizes(sum);
  deposit_pairs(words, fold->linear[sum].pairs, 0, times);
  deposit(words, times * fold->linear[sum].total, 0);
  if (sizeof(UBITS) == 2) deposit(words, times * (i64)fold->elements, SIGN_SHIFT);
}

INLINE void close(Fold* fold, WORDS i64* partial, const int needs) {
  const i64 n = (i64)fold->elements;
  if (n == 0) return;
  drain(fold);
  WORDS i64* const squares = partial + OFFSET(SQUARES);
  if (IS_BOOL) {
    const i64 ones = n - (i64)fold->zeros_total;
    if (needs & NEED_EXTREMA) raise_extrema(partial, ones != 0, ones == n);
    FOR_EACH_LINEAR(if (needs & linear_need(sum)) {
      deposit(partial + LINEAR_OFFSET(sum), linear_above(sum) * ones, 0);
    })
    if (needs & NEED_SQUARES) deposit(squares, ones, 0);
  } else {
    if (needs & NEED_EXTREMA) {
      raise_extrema(partial, (i64)MAX_LANE(ORDERED, fold->top), (i64)MIN_LANE(ORDERED, fold->bottom));
    }
    FOR_EACH_LINEAR(if (needs & linear_need(sum)) {
      WORDS i64* const words = partial + LINEAR_OFFSET(sum);
      if (IS_SIGNED && sum != LINEAR_SUM) {
        deposit_sizes(fold, words, sum);
      } else if (linear_above(sum) != 0) {
        deposit_sum(fold, words);
      }
    })
    if (needs & NEED_SQUARES) {
      deposit_pairs(squares, fold->squares, sizeof(UBITS) == 4 ? 32 : 0, 1);
      deposit(squares, fold->square_total, 0);
      if (LESS_BIAS) {  // x^2 = (x - 2^15)^2 + 2^16 (x - 2^15) + 2^30
        deposit(squares, fold->linear[LINEAR_SUM].total, SIGN_SHIFT + 1);
        deposit(squares, n, 2 * SIGN_SHIFT);
      }
    }
  }
  if (needs & NEED_SIGNS) {
    ADD(partial[PARTIAL_ZEROS], (i64)fold->zeros_total);
    ADD(partial[PARTIAL_NEGATIVES], (i64)fold->negatives_total);
  }
}

// What the fold has seen so far, for fold_indices.h: returns SEEN_NAN and SEEN_INF, and sets the keys of the extrema.
// If there is no number, the highest lies below the lowest.
INLINE int so_far(const Fold* fold, const WORDS i64* partial, SPACE const u8* p, const u32 count, i64* highest,
                  i64* lowest) {
  (void)partial;
  (void)p;
  (void)count;
  if (IS_BOOL) {
    const u64 zeros = fold->zeros_total + (u64)ADD_LANES(UBITS, fold->zeros);
    *highest = zeros != fold->elements;
    *lowest = zeros == 0;
  } else {
    *highest = (i64)MAX_LANE(ORDERED, fold->top);
    *lowest = (i64)MIN_LANE(ORDERED, fold->bottom);
  }
  return 0;
}

INLINE u32 fold_some(Fold* fold, WORDS i64* partial, SPACE const u8* p, const u64 left, SPACE const u8* from,
                     const int needs) {
  (void)left;
  (void)from;
  (void)partial;
  UNROLL
  for (int i = 0; i < GROUP; i += LANES(UBITS)) {
    const VECTOR_OF(ORDERED) x = LOAD(ORDERED, p + i * (int)sizeof(UBITS));
    if (IS_BOOL || (needs & NEED_SIGNS)) COUNT_INTO(UBITS, fold->zeros, x == (ORDERED)0);
    if (IS_BOOL) continue;
    if (IS_SIGNED && (needs & NEED_SIGNS)) COUNT_INTO(UBITS, fold->negatives, AS(SBITS, x) < (SBITS)0);
    if (needs & (NEED_EXTREMA | NEED_INDICES)) {
      fold->top = MAX(fold->top, x);
      fold->bottom = MIN(fold->bottom, x);
    }
    ADD_VECTOR(x)
    if (HAS_SIZES) {
      const VECTOR_OF(UBITS) sign = AS(UBITS, AS(SBITS, x) < (SBITS)0);
      const VECTOR_OF(UBITS) size = (AS(UBITS, x) ^ sign) - sign;
      FOR_EACH_LINEAR(if (sum != LINEAR_SUM && (needs & linear_need(sum))) {
        ADD_SIZES(&fold->linear[sum], linear_sizes(size, sign, sum))
      })
    }
  }
  fold->elements += GROUP;
  fold->steps += GROUP / LANES(UBITS);
  if (fold->steps >= DRAIN_STEPS) drain(fold);
  return GROUP;
}
