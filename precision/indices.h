// Where in the tensor something is: of each row the element with the largest key, and of those the first. A row keeps two
// words, its key and ~index (keyed.h). One text for C++ and OpenCL C, and the only list of them: the lifts, the folds, the
// layout of a partial and its merge take them from here (partial.h).
//
// An index counts from the first element of what was folded. Whoever puts parts together knows where each begins, and
// says so when it merges them (stats/meter/partial.cpp).
#ifndef TENSORSTAT_PRECISION_INDICES_H
#define TENSORSTAT_PRECISION_INDICES_H

// What asks for them, all together. ROW(id, name of the same bit in <tensorstat/partial.hpp>)
#define INDEX_NEED_ROWS(ROW) ROW(INDICES, kIndices)

// ROW(id, of, ...)
//   of   IS_FLOAT: of integers and bool it stays empty; or 1: of every dtype
// INDEX_IF_<id> is whether an element takes part, given its size as elements.h has it; INDEX_KEY_<id> its key, given the
// one that orders elements (INDEX_ORDER, formats.h). What follows the row's name is handed to every row.
#define INDEX_ROWS(ROW, ...)           \
  ROW(FIRST_NAN, IS_FLOAT, __VA_ARGS__) \
  ROW(FIRST_INF, IS_FLOAT, __VA_ARGS__) \
  ROW(GREATEST, 1, __VA_ARGS__)         \
  ROW(LEAST, 1, __VA_ARGS__)
#define INDEX_IF_FIRST_NAN(size) ((size) > INF_SIZE)
#define INDEX_KEY_FIRST_NAN(order) 0
#define INDEX_IF_FIRST_INF(size) (HAS_INF && (size) == INF_SIZE)
#define INDEX_KEY_FIRST_INF(order) 0
#define INDEX_IF_GREATEST(size) ((size) <= INF_SIZE)
#define INDEX_KEY_GREATEST(order) (order)
#define INDEX_IF_LEAST(size) ((size) <= INF_SIZE)
#define INDEX_KEY_LEAST(order) (~(order))

#endif
