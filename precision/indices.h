// Indices of elements. Each row finds the first element with the largest key. It keeps two words: the key and ~index
// (keyed.h). One text for C++ and OpenCL C, and the only list of them: the lifts, the folds, the layout of a partial
// and its merge (partial.h) follow from it.
//
// An index counts from the first element that was folded. Whoever merges parts says where each begins
// (stats/core/meter/partial.cpp).
#ifndef TENSORSTAT_PRECISION_INDICES_H
#define TENSORSTAT_PRECISION_INDICES_H

// One need for all. ROW(id, its name in stats/core/engine/needs.hpp)
#define INDEX_NEED_ROWS(ROW) ROW(INDICES, kIndices)

// ROW(id, dtypes)
//   dtypes  1: every dtype has it; IS_FLOAT: it stays empty for integers and bool
// INDEX_IF_<id>: whether an element takes part, given its size (elements.h). INDEX_KEY_<id>: its key, given the number
// that orders elements (INDEX_ORDER, formats.h).
#define INDEX_ROWS(ROW)    \
  ROW(FIRST_NAN, IS_FLOAT) \
  ROW(FIRST_INF, IS_FLOAT) \
  ROW(GREATEST, 1)         \
  ROW(LEAST, 1)
#define INDEX_IF_FIRST_NAN(size) ((size) > INF_SIZE)
#define INDEX_KEY_FIRST_NAN(order) 0
#define INDEX_IF_FIRST_INF(size) (HAS_INF && (size) == INF_SIZE)
#define INDEX_KEY_FIRST_INF(order) 0
#define INDEX_IF_GREATEST(size) ((size) <= INF_SIZE)
#define INDEX_KEY_GREATEST(order) (order)
#define INDEX_IF_LEAST(size) ((size) <= INF_SIZE)
#define INDEX_KEY_LEAST(order) (~(order))

#endif
