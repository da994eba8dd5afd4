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
using Needs = std::uint8_t;
enum Need : Needs {
  kNothing = 0,   // counts of elements, NaN and Inf, which cost nothing
  kExtrema = 1,
  kSigns = 2,
  kSum = 4,
  kSquares = 8,
  // Digests want the bytes in order, and are no partial.
  kMd5Digest = 16,
  kSha1Digest = 32,
  kDigests = kMd5Digest | kSha1Digest,
};
#define TENSORSTAT_NEED(id, name, column, need, kind) need,
inline constexpr Needs kCategoryNeeds[] = {TENSORSTAT_CATEGORIES(TENSORSTAT_NEED)};
constexpr Needs needs(Category category) { return kCategoryNeeds[static_cast<int>(category)]; }
#undef TENSORSTAT_NEED
constexpr bool is_digest(Category category) { return (needs(category) & kDigests) != 0; }
Needs needs(const Categories& categories, Precision precision);

class Partial {
 public:
  // Of no elements.
  Partial(Dtype dtype, Precision precision, Needs needs);

  Dtype dtype() const { return dtype_; }
  Precision precision() const { return precision_; }
  Needs needs() const { return needs_; }
  std::uint64_t count() const;

  // Takes in the elements of `other`: same dtype, precision and needs, else an error.
  Status merge(const Partial& other);

  // The value of a category whose needs were kept; monostate for any other, and for `md5`.
  //   max, min     NaN when any element is; -0 is below +0; monostate of no elements
  //   avg          the exact mean rounded once to binary64; NaN when any element is, or both
  //                infinities are; an infinity when one is; monostate of no elements
  //   l2norm       the exact root of the sum of squares, rounded once to binary64; NaN when any
  //                element is; Inf when one is, or beyond binary64; 0 of no elements
  // In `low`, avg and l2norm of a float dtype are values of that dtype (precision/README.md).
  Value finish(Category category) const;

  // avg and l2norm rounded once to binary32 instead, not twice.
  Value finish_binary32(Category category) const;

  // A versioned, little-endian, canonical form: equal partials give equal bytes. `parse` takes
  // nothing on trust. Without memory there are no bytes, which `parse` refuses.
  std::vector<std::byte> serialize() const;
  static Result<Partial> parse(std::span<const std::byte> bytes);

  // precision/partial.h says what the words are; for engines.
  std::span<std::int64_t> words() { return {many_.empty() ? few_.data() : many_.data(), word_count_}; }
  std::span<const std::int64_t> words() const { return {many_.empty() ? few_.data() : many_.data(), word_count_}; }

 private:
  Dtype dtype_;
  Precision precision_;
  Needs needs_;
  std::uint32_t word_count_;
  // A batch has thousands of partials, and few of them are float64's: only those allocate.
  std::array<std::int64_t, 41> few_{};
  std::vector<std::int64_t> many_;  // where those are too few
};

// The same on bare words, for engines that keep many.
std::size_t partial_words(Dtype dtype);
void clear(std::span<std::int64_t> words);
void merge(Dtype dtype, std::span<std::int64_t> into, std::span<const std::int64_t> from);
// Brings all but the last word of each sum into [0, 2^32): due every 2^30 additions to a word.
void carry(Dtype dtype, std::span<std::int64_t> words);

}  // namespace tensorstat
