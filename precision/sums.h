// The linear sums of partial.h, by number. An element adds itself to a linear sum, or its negative, or nothing; its
// sign decides. So one window, one proof and one number of words serve all of them. One text for C++ and OpenCL C.
//
// A fold keeps an array over the linear sums. FOR_EACH_LINEAR goes over it. Needs are constant there: a sum that is not
// requested costs no instructions.
#ifndef TENSORSTAT_PRECISION_SUMS_H
#define TENSORSTAT_PRECISION_SUMS_H

// Keeps the rows of power 1.
#define OF_POWER_1(text) text
#define OF_POWER_2(text)

#define COMMA ,
#define LINEAR_ROW(id, words, power, need, optional, above, below, with) OF_POWER_##power(LINEAR_##id COMMA)
enum { EXACT_ROWS(LINEAR_ROW, ) LINEAR_SUMS };
#undef LINEAR_ROW
#undef COMMA

#define LINEAR_ROW(id, words, power, need, optional, above, below, with) OF_POWER_##power(| NEED_##need)
enum { NEED_LINEAR = 0 EXACT_ROWS(LINEAR_ROW, ) };
#undef LINEAR_ROW

// The columns of a linear sum.
#define LINEAR_ROW(id, words, power, need, optional, above, below, with) \
  OF_POWER_##power(sum == LINEAR_##id ? (int)NEED_##need :)
INLINE int linear_need(const int sum) { return EXACT_ROWS(LINEAR_ROW, ) 0; }
#undef LINEAR_ROW
#define LINEAR_ROW(id, words, power, need, optional, above, below, with) OF_POWER_##power(sum == LINEAR_##id ? (above) :)
INLINE int linear_above(const int sum) { return EXACT_ROWS(LINEAR_ROW, ) 0; }
#undef LINEAR_ROW
#define LINEAR_ROW(id, words, power, need, optional, above, below, with) OF_POWER_##power(sum == LINEAR_##id ? (below) :)
INLINE int linear_below(const int sum) { return EXACT_ROWS(LINEAR_ROW, ) 0; }
#undef LINEAR_ROW

// Writes the statement once for each linear sum. In it the constant `sum` is the number of the sum. Commas in it must be
// within parentheses. Not a loop: compilers
// decide what to inline and to specialise before they unroll loops, and made slower code of a loop.
#define LINEAR_STATEMENT(id, words, power, need, optional, above, below, statement) \
  OF_POWER_##power({                                                                \
    const int sum = LINEAR_##id;                                                    \
    statement                                                                       \
  })
#define FOR_EACH_LINEAR(statement) EXACT_ROWS(LINEAR_STATEMENT, statement)

// What elements of one sign add. `size` is the sum of their |x|.
INLINE i64 linear_of_size(const int sum, const i64 size, const int is_negative) {
  return is_negative ? -linear_below(sum) * size : linear_above(sum) * size;
}

// What a number x of any signed type adds. |x| is a case of its own, so that clang recognises it.
#define LINEAR_TERM(x, sum)                                                  \
  (linear_above(sum) != 0 && linear_below(sum) < 0 ? ((x) < 0 ? -(x) : (x))  \
   : (x) < 0                                       ? linear_below(sum) * (x) \
                                                   : linear_above(sum) * (x))

// The number of linear sums that a partial with `needs` has words for. These are the first ones.
#define LINEAR_KEPT_OF(id, words, power, need, optional, above, below, needs) \
  OF_POWER_##power(+(!(optional) || ((int)(needs)&NEED_OPTIONAL & ~(NEED_##need - 1)) != 0))
#define LINEAR_KEPT(needs) (0 EXACT_ROWS(LINEAR_KEPT_OF, needs))

// Whether a lift adds to a linear sum: if its words always exist, or if it is requested.
INLINE int linear_is_lifted(const int sum, const int needs) {
  return sum < LINEAR_KEPT(NEED_NOTHING) || (needs & linear_need(sum)) != 0;
}

// The first word of a linear sum in a partial of FAMILY.
#define LINEAR_OFFSET_OF(id, words, power, need, optional, above, below, sum) \
  OF_POWER_##power((sum) == LINEAR_##id ? (int)OFFSET(id) :)
#define LINEAR_OFFSET(sum) (EXACT_ROWS(LINEAR_OFFSET_OF, sum) 0)

#endif
