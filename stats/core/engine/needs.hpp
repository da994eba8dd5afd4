// The needs: which accumulators a statistic is computed from, and which a partial keeps, as a sum of bits. The
// catalog's rows name them. The bits are numbered anew when an accumulator is added, so no file and no public header
// has them.
#pragma once

#include <tensorstat/partial.hpp>

#include "precision/partial.h"

namespace tensorstat {

#define NEED(id, name) name = NEED_##id,
enum Need : Needs {
  kNothing = NEED_NOTHING,  // counts of elements, NaN and Inf are always kept
  NEED_ROWS(NEED)           // the accumulators of precision/partial.h
  kCasts = kCastE4m3fn | kCastE5m2 | kCastFloat16 | kCastBfloat16,
  kOfElements = NEED_ELEMENTS,
  kFingerprints = NEED_FINGERPRINTS,
  kQuantiles = Needs{1} << 29,  // counts of elements by value, kept beside the words
  // Digests need the bytes in order, so they do not merge and are not part of a partial.
  kMd5Digest = Needs{1} << 30,
  kSha1Digest = Needs{1} << 31,
  kDigests = kMd5Digest | kSha1Digest,
};
#undef NEED
static_assert((kDigests & Needs{NEED_ALL}) == 0 && (kQuantiles & Needs{NEED_ALL}) == 0);

// By the number of a category; kQuantileNeeds is for each quantile.
extern const Needs kCategoryNeeds[kCategoryCount];
extern const Needs kQuantileNeeds;
inline Needs needs(Category category) {
  return is_quantile(category) ? kQuantileNeeds : kCategoryNeeds[static_cast<int>(category)];
}

}  // namespace tensorstat
