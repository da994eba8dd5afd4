// A key and where it stands: two words that merge as one. The larger key wins, and of equal keys the lower index. One
// text for C++ and OpenCL C.
//
// The second word is ~index, so that it rises as the index falls, and both begin as PARTIAL_NO_KEY: of no element. An
// index is below 2^63, so that ~index never is that.
#ifndef TENSORSTAT_PRECISION_KEYED_H
#define TENSORSTAT_PRECISION_KEYED_H

// `at` is ~index of the element with the key. Without a branch: a kernel has this many times for each element of a vector,
// and pocl's compiler follows every path through branches that stand in a row.
INLINE void raise_keyed_if(const bool wanted, i64* words, i64 key, i64 at) {
  const bool raises = wanted & ((key > words[0]) | ((key == words[0]) & (at > words[1])));
  words[0] = raises ? key : words[0];
  words[1] = raises ? at : words[1];
}
INLINE void raise_keyed(i64* words, i64 key, i64 at) { raise_keyed_if(true, words, key, at); }

#endif
