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

// Which accumulators a partial keeps. The bits are the library's own and differ between its versions: no file has them.
using Needs = std::uint32_t;
// The accumulators from which these categories are computed. 0: the counts of elements, NaN and Inf, which are always
// kept. Digests are among them, but need the bytes in order, so they do not merge and are not part of a partial.
Needs needs(const Categories& categories, Precision precision);

// For quantiles: the number of elements in one bin. `place` is the bin's rank among the bins of the dtype, in ascending
// order of value. For 8-bit and 16-bit dtypes a bin is one value. For wider dtypes it is all values that share their
// upper bits (stats/core/engine/quantile_bins.hpp).
struct BinCount {
  std::uint32_t place;
  std::uint64_t count;
  friend bool operator==(const BinCount&, const BinCount&) = default;
};

class Partial {
 public:
  // An empty partial. `cast_scale` is stored only if casts are counted.
  Partial(Dtype dtype, Precision precision, Needs needs, double cast_scale = 1);

  Dtype dtype() const { return dtype_; }
  Precision precision() const { return precision_; }
  Needs needs() const { return needs_; }
  bool keeps(Category category) const;  // whether finish() can have its value
  double cast_scale() const { return cast_scale_; }
  std::uint64_t count() const;

  // Adds the elements of `other`. kInvalid if dtype, precision, needs or cast scale differ, or if the counts overflow.
  Status merge(const Partial& other);

  // Declares that this part begins at element `first` of the whole tensor, in C order. Its indices then count in the
  // whole, and its crc32 and xor64 become its contribution to the whole's. Call it once, before merging with other
  // parts; then crc32 and xor64 do not depend on the order of merging. Nothing else changes. kInvalid if an index would
  // become 2^63 - 1 or more, or if the part has checksums and does not begin at a byte of the whole.
  Status move_to(std::uint64_t first);

  // The value of a category. monostate if keeps() is false, for `md5` and `hash`, and if there is no value:
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

  // For engines. The words differ between versions of the library; serialize() writes them by name.
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
  // Room for the words of most partials, so that they do not allocate. Batches have thousands of partials.
  std::array<std::int64_t, 41> few_{};
  std::vector<std::int64_t> many_;  // used instead, if these are too few
  std::vector<BinCount> bins_;
};

}  // namespace tensorstat
