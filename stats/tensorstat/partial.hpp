// SPDX-License-Identifier: Apache-2.0
// The partial: what a pass over a tensor, or over any part of it, leaves behind. Lanes, chunks,
// devices and ranks each yield one; all merge by the same function, in any order, to the same bits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <tensorstat/catalog.hpp>
#include <tensorstat/statistics.hpp>
#include <tensorstat/status.hpp>

namespace tensorstat {

// What a category needs the pass to keep; a sum of these bits. The catalog's rows name them.
using Needs = std::uint32_t;
enum Need : Needs {
  kNothing = 0,       // counts of elements, NaN and Inf, which cost nothing
  kExtrema = 1 << 0,  // the accumulators' list (precision/partial.h) has these bits too; a static_assert compares
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
  kOfElements = kLeastSize | kSubnormals | kMinusZeros | kFinite | kCasts,  // those of precision/elements.h
  kCrc32 = 1 << 13,
  kXor64 = 1 << 14,
  kFingerprints = kCrc32 | kXor64,  // those of precision/fingerprints.h
  kIndices = 1 << 15,               // those of precision/indices.h
  kExponents = 1 << 16,             // those of precision/exponents.h
  kQuantiles = Needs{1} << 29,      // how many elements have each of many values; counted beside the words
  // Digests want the bytes in order, and are no partial.
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
// Whether it is of the elements' bytes as the file or the framework has them, whatever numbers these are.
constexpr bool is_of_bytes(Category category) { return (needs(category) & (kDigests | kFingerprints)) != 0; }
Needs needs(const Categories& categories, Precision precision);

// Of quantiles: how many elements lie in a bin, which is its place among those of the dtype in ascending order. A bin is one
// value of 8 and 16 bits, and of wider dtypes the values that share their upper bits (stats/engine/quantile_bins.hpp).
struct BinCount {
  std::uint32_t place;
  std::uint64_t count;
  friend bool operator==(const BinCount&, const BinCount&) = default;
};

class Partial {
 public:
  // Of no elements. A scale is kept where casts are among the needs.
  Partial(Dtype dtype, Precision precision, Needs needs, double cast_scale = 1);

  Dtype dtype() const { return dtype_; }
  Precision precision() const { return precision_; }
  Needs needs() const { return needs_; }
  double cast_scale() const { return cast_scale_; }
  std::uint64_t count() const;

  // Takes in the elements of `other`: same dtype, precision, needs and scale of casts, else an error.
  Status merge(const Partial& other);

  // Of a part of a tensor whose first element is number `first` of the whole, in C order: from now on its indices are
  // those of the whole, and its crc32 and xor64 are what the part adds to those of the whole. Before it is merged with other
  // parts, in whose order neither lies. All else is as it was. An error where an index would reach 2^63.
  Status move_to(std::uint64_t first);

  // The value of a category whose needs were kept; monostate for any other, and for `md5` and `hash`. formula() and
  // nan_rule() say what it is (catalog.hpp). Real numbers are the exact value rounded once to binary64. Indices are those of
  // what was folded. crc32 and xor64 are a Digest, the highest byte first, once all parts are merged. Casts are counted at
  // cast_scale(). In `low`, what comes of sums of a float dtype is a value of that dtype (precision/README.md).
  Value finish(Category category) const;

  // What is a real number (ValueKind::kReal) rounded once to binary32 instead, not twice.
  Value finish_binary32(Category category) const;

  // A versioned, little-endian, canonical form: equal partials give equal bytes. `parse` takes
  // nothing on trust, and refuses the form of another version with words that say so. Without memory there are no bytes.
  std::vector<std::byte> serialize() const;
  static Result<Partial> parse(std::span<const std::byte> bytes);

  // precision/partial.h says what the words are; for engines.
  std::span<std::int64_t> words() { return {many_.empty() ? few_.data() : many_.data(), word_count_}; }
  std::span<const std::int64_t> words() const { return {many_.empty() ? few_.data() : many_.data(), word_count_}; }

  // Of quantiles, where they are kept: the bins that hold elements, in the order of their places, 16 bytes each. There are
  // no more of them than elements, nor than 2^8 of 8-bit dtypes, 2^19 of float64 and 2^16 of all others.
  std::vector<BinCount>& bins() { return bins_; }
  const std::vector<BinCount>& bins() const { return bins_; }

 private:
  Status move_indices(std::uint64_t first);

  Dtype dtype_;
  Precision precision_;
  Needs needs_;
  std::uint32_t word_count_;
  double cast_scale_;
  // A batch has thousands of partials, and few of them are float64's: only those allocate.
  std::array<std::int64_t, 41> few_{};
  std::vector<std::int64_t> many_;  // where those are too few
  std::vector<BinCount> bins_;
};

// The same on bare words, for engines that keep many: those of a partial that keeps `needs`.
std::size_t partial_words(Dtype dtype, Needs needs);
void clear(Dtype dtype, std::span<std::int64_t> words);
// `from` begins with element number `first` of what `into` is of.
void merge(Dtype dtype, std::span<std::int64_t> into, std::span<const std::int64_t> from, std::uint64_t first = 0);
// Brings all but the last word of each sum into [0, 2^32): due every 2^30 additions to a word.
void carry(Dtype dtype, std::span<std::int64_t> words);

}  // namespace tensorstat
