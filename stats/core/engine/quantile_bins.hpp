// The counts for quantiles: how many elements lie in each bin of their dtype. They are kept beside a partial's words,
// because there are up to half a million of them.
//
// For dtypes of 8 and 16 bits a bin is one value. For float32 and float64 it is all values with the same sign, exponent
// and upper 7 bits of the mantissa. For wider integers it is all values with the same sign, highest bit of |x| and the
// 9 bits after it. -0 is below +0. NaN is in no bin.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <tensorstat/partial.hpp>
#include <vector>

#include "stats/core/engine/code_histogram.hpp"
#include "stats/core/engine/code_list.hpp"

namespace tensorstat {

// Counts elements, piece by piece. Few elements are listed and sorted; more are counted by a histogram. The block of
// the histogram, 1 MiB (8 MiB for float64), is reused for the next tensor.
class BinCounter {
 public:
  // Starts an empty count. Call clear() first if the counter holds elements. Throws without memory.
  void open(Dtype dtype);
  // Announces the number of elements of the next piece, which may be counted in parts. For many elements, close()
  // visits every bin, which is cheaper than noting which ones are used.
  void expect(std::uint64_t elements);
  // Counts the first `number` elements of these bytes.
  void count(std::span<const std::byte> elements, std::uint64_t number);
  // Takes a device's results for the next piece: the codes of its elements, or how many elements have each code.
  void take_codes(std::span<const std::byte> codes);
  void take_counts(std::span<const std::uint32_t> counts, std::uint64_t elements);
  // Adds the counts of another counter of the same dtype.
  void add(const BinCounter& other);
  // Call it after the last element and before reading, with the words of the same elements' partial. Some codes stand
  // for both Inf and NaN; the words tell how many of each.
  void close(std::span<const std::int64_t> words);
  void clear();

  // After close(), else there is nothing to read: the bin of the element with this rank, from 1.
  std::optional<std::uint32_t> place_of_rank(std::uint64_t rank) const;
  // Appends the bins that hold elements, in ascending order.
  void append_to(std::vector<BinCount>& bins) const;
  // No fewer than append_to() appends.
  std::size_t most_bins() const;

 private:
  template <typename Code>
  void count_codes(std::span<const std::byte> elements);
  void count_packed(std::span<const std::byte> elements, std::uint64_t number);
  void stop_listing();

  Dtype dtype_ = Dtype::kFloat32;
  bool lists_ = false;  // all elements so far are in the list, and none in the histogram; else the other way round
  CodeList list_;
  CodeHistogram histogram_;
};

// The bins of a pass: a closed counter or the bins of a partial. A view: it owns nothing.
struct BinsView {
  const BinCounter* counter = nullptr;
  std::span<const BinCount> kept{};

  std::optional<std::uint32_t> place_of_rank(std::uint64_t rank) const;
};

// Adds `from` to `into`. Throws without memory; `into` is unchanged then.
void merge(std::vector<BinCount>& into, const BinsView& from);

}  // namespace tensorstat
