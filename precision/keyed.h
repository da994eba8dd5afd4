// A key and the index of its element: two words that merge as one. The larger key wins; for equal keys the lower index.
// One text for C++ and OpenCL C.
//
// The second word is ~index, which rises as the index falls. Both begin as PARTIAL_NO_KEY, which means no element. An
// index is below 2^63, so ~index is never PARTIAL_NO_KEY.
#ifndef TENSORSTAT_PRECISION_KEYED_H
#define TENSORSTAT_PRECISION_KEYED_H

// `complement` is ~index of the element with the key. The function has no branch: a kernel calls it many times for each
// element of a vector, and pocl's compiler follows each path through a row of branches.
INLINE void raise_keyed_if(const bool wanted, i64* words, i64 key, i64 complement) {
  const bool raises = wanted & ((key > words[0]) | ((key == words[0]) & (complement > words[1])));
  words[0] = raises ? key : words[0];
  words[1] = raises ? complement : words[1];
}
INLINE void raise_keyed(i64* words, i64 key, i64 complement) { raise_keyed_if(true, words, key, complement); }

#endif
