// SPDX-License-Identifier: Apache-2.0
// The partial: the accumulators of a tensor, or of a part of one. Lanes, chunks, devices and ranks each produce one.
// All partials merge by the same function, in any order, to the same bits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tensorstat/catalog.hpp>
#include <tensorstat/statistics.hpp>
#include <tensorstat/status.hpp>
#include <vector>

namespace tensorstat {

// The accumulators that a category needs, as a sum of these bits. The catalog's rows name them.
using Needs = std::uint32_t;
enum Need : Needs {
  kNothing = 0,       // counts of elements, NaN and Inf are always kept
  kExtrema = 1 << 0,  // precision/partial.h has these bits too; a static_assert compares them
  kSigns = 1 << 1,
  kSum = 1 << 2,
  kSquares = 1 << 3,
  kAbsolute = 1 << 4,
  kLeastSize = 1 << 5,
  kSubnormals = 1 << 6,
  kMinusZeros = 1 << 7,
  kFinite = 1 << 8,
  kCastE4m3fn = 1 << 9,
  kCastE5m2 = 1 << 10,
  kCastFloat16 = 1 << 11,
  kCastBfloat16 = 1 << 12,
  kCasts = kCastE4m3fn | kCastE5m2 | kCastFloat16 | kCastBfloat16,
  kOfElements = kLeastSize | kSubnormals | kMinusZeros | kFinite | kCasts,  // the accumulators of precision/elements.h
  kCrc32 = 1 << 13,
  kXor64 = 1 << 14,
  kFingerprints = kCrc32 | kXor64,  // the accumulators of precision/fingerprints.h
  kIndices = 1 << 15,               // the accumulators of precision/indices.h
  kExponents = 1 << 16,             // the accumulators of precision/exponents.h
  kQuantiles = Needs{1} << 29,      // counts of elements by value, kept beside the words
  // Digests need the bytes in order, so they do not merge and are not part of a partial.
  kMd5Digest = Needs{1} << 30,
  kSha1Digest = Needs{1} << 31,
  kDigests = kMd5Digest | kSha1Digest,
};
#define TENSORSTAT_NEED(id, name, column, kind, in_all, of_complex, needs, ...) needs,
inline constexpr Needs kCategoryNeeds[] = {TENSORSTAT_CATEGORIES(TENSORSTAT_NEED)};
inline constexpr Needs kQuantileNeeds[] = {TENSORSTAT_QUANTILE(TENSORSTAT_NEED)};
constexpr Needs needs(Category category) {
  return is_quantile(category) ? kQuantileNeeds[0] : kCategoryNeeds[static_cast<int>(category)];
}
#undef TENSORSTAT_NEED
constexpr bool is_digest(Category category) { return (needs(category) & kDigests) != 0; }
// Whether it depends on the elements' bytes only, not on their values as numbers.
constexpr bool is_of_bytes(Category category) { return (needs(category) & (kDigests | kFingerprints)) != 0; }
Needs needs(const Categories& categories, Precision precision);

// For quantiles: the number of elements in one bin. `place` is the bin's rank among the bins of the dtype, in ascending
// order of value. For 8-bit and 16-bit dtypes a bin is one value. For wider dtypes it is all values that share their
// upper bits (stats/engine/quantile_bins.hpp).
struct BinCount {
  std::uint32_t place;
  std::uint64_t count;
  friend bool operator==(const BinCount&, const BinCount&) = default;
};

class Partial {
 public:
  // An empty partial. `cast_scale` is stored only if casts are among the needs.
  Partial(Dtype dtype, Precision precision, Needs needs, double cast_scale = 1);

  Dtype dtype() const { return dtype_; }
  Precision precision() const { return precision_; }
  Needs needs() const { return needs_; }
  double cast_scale() const { return cast_scale_; }
  std::uint64_t count() const;

  // Adds the elements of `other`. kInvalid if dtype, precision, needs or cast scale differ, or if the counts overflow.
  Status merge(const Partial& other);

  // Declares that this part begins at element `first` of the whole tensor, in C order. Its indices then count in the
  // whole, and its crc32 and xor64 become its contribution to the whole's. Call it once, before merging with other
  // parts; then crc32 and xor64 do not depend on the order of merging. Nothing else changes. kInvalid if an index would
  // reach 2^63, or if the part has checksums and does not begin at a byte of the whole.
  Status move_to(std::uint64_t first);

  // The value of a category. monostate if its needs were not kept, for `md5` and `hash`, and if there is no value:
  // formula() and nan_rule() say what it is, also for NaN, Inf and no elements (catalog.hpp). Real numbers are the
  // exact value, rounded once to binary64. Indices count in what was folded. crc32 and xor64 are a Digest, highest byte
  // first, valid once all parts are merged. Casts are counted at cast_scale(). In `low`, the values that come from sums
  // of a float dtype are values of that dtype (precision/README.md).
  Value finish(Category category) const;

  // As finish(), but a real number (ValueKind::kReal) is rounded to binary32, once, from the exact value.
  Value finish_binary32(Category category) const;

  // A versioned, little-endian form: equal partials give equal bytes. It is empty if host memory is exhausted.
  // `parse` checks every byte and may read untrusted input. kInvalid for any other bytes; the message names a form of
  // another version.
  std::vector<std::byte> serialize() const;
  static Result<Partial> parse(std::span<const std::byte> bytes);

  // For engines. precision/partial.h describes the words.
  std::span<std::int64_t> words() { return {many_.empty() ? few_.data() : many_.data(), word_count_}; }
  std::span<const std::int64_t> words() const { return {many_.empty() ? few_.data() : many_.data(), word_count_}; }

  // The non-empty bins, by ascending place, if quantiles are kept; 16 bytes each. There are at most as many as
  // elements, and at most 2^8 for 8-bit dtypes, 2^19 for float64 and 2^16 for all others.
  std::vector<BinCount>& bins() { return bins_; }
  const std::vector<BinCount>& bins() const { return bins_; }

 private:
  Status move_indices(std::uint64_t first);

  Dtype dtype_;
  Precision precision_;
  Needs needs_;
  std::uint32_t word_count_;
  double cast_scale_;
  // 41 words suffice for most partials, so that they do not allocate. Batches have thousands of partials.
  std::array<std::int64_t, 41> few_{};
  std::vector<std::int64_t> many_;  // used instead, if 41 words are too few
  std::vector<BinCount> bins_;
};

// The same functions on bare words, for engines that keep many. partial_words: the word count of a partial with
// `needs`.
std::size_t partial_words(Dtype dtype, Needs needs);
void clear(Dtype dtype, std::span<std::int64_t> words);
// Adds `from` to `into`. Element 0 of `from` is element `first` of the tensor that `into` describes.
void merge(Dtype dtype, std::span<std::int64_t> into, std::span<const std::int64_t> from, std::uint64_t first = 0);
// Propagates carries: all words of each sum but the last lie in [0, 2^32) afterwards. Call it at least every 2^30
// additions to a word.
void carry(Dtype dtype, std::span<std::int64_t> words);

}  // namespace tensorstat
