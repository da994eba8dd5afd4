// The counts for quantiles: how many elements lie in each bin of their dtype. They are kept beside a partial's words,
// because there are up to half a million of them.
//
// For dtypes of 8 and 16 bits a bin is one value. For float32 and float64 it is all values with the same sign, exponent
// and upper 7 bits of the mantissa. For wider integers it is all values with the same sign, highest bit of |x| and the
// 9 bits after it. -0 is below +0. NaN is in no bin.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <tensorstat/partial.hpp>
#include <vector>

namespace tensorstat {

// Counts elements, piece by piece, in a block of 1 MiB (8 MiB for float64) that is reused for the next tensor. Few
// elements are sorted as codes, and no bins are used. Otherwise only pages of bins that hold elements are touched.
class BinCounter {
 public:
  // Starts an empty count. Call clear() first if the counter holds elements. Throws if there is no memory.
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

  // After close(): the bin of the element with this rank, from 1.
  std::optional<std::uint32_t> place_of_rank(std::uint64_t rank) const;
  // Appends the bins that hold elements, in ascending order.
  void append_to(std::vector<BinCount>& bins) const;
  std::size_t most_bins() const { return lists_ ? listed_end_ - listed_begin_ : std::size_t{kGroup} * group_count_; }

 private:
  // Elements are counted by code, which is cheap to compute: their bits, or the upper part of these.
  static constexpr std::uint32_t kGroup = 64;         // bins that share a byte of used_
  static constexpr std::uint32_t kMostListed = 4096;  // up to this many elements, sorting is faster
  struct Group {
    std::uint32_t first_place;
    std::uint64_t below;  // elements in all groups before it
  };

  template <typename Bits, typename CodeOf>
  void count_by(std::span<const std::byte> elements, const CodeOf& code_of);
  template <typename Bits, typename CodeOf>
  void count_made(std::span<const std::byte> elements, const CodeOf& code_of);
  template <typename Code>
  void count_codes(std::span<const std::byte> elements);
  template <typename Bits, typename CodeOf>
  void list(std::span<const std::byte> elements, const CodeOf& code_of);
  void count_listed(std::span<const std::uint32_t> codes);
  void stop_listing();
  void close_list(std::span<const std::int64_t> words);
  void count_packed(std::span<const std::byte> elements, std::uint64_t number);
  template <typename Visit>
  void for_each_used(std::uint32_t first_code, std::uint32_t end_code, bool backwards, const Visit& visit) const;
  std::uint64_t at(std::uint32_t code) const;
  std::uint64_t in_group(std::uint32_t first_code) const;
  void set(std::uint32_t code, std::uint64_t count);
  std::uint32_t code_of_place(std::uint32_t place) const;
  void will_take(std::uint64_t elements);  // makes sure that even_ and odd_ do not overflow
  void widen();

  struct Free {
    void operator()(void* block) const { std::free(block); }
  };
  std::unique_ptr<void, Free> block_;
  std::uint32_t room_ = 0;  // the bins for which the block has room

  Dtype dtype_ = Dtype::kFloat32;
  std::uint32_t bins_ = 0;
  // Pointers into the block. For many elements, neighbours are counted in even_ and odd_ by turns, so that an addition
  // seldom waits for the one before. wide_ takes counts that exceed 32 bits.
  std::uint32_t *even_ = nullptr, *odd_ = nullptr;
  std::uint64_t* wide_ = nullptr;
  std::uint8_t* used_ = nullptr;     // for each group of codes: whether any may be counted
  Group* groups_ = nullptr;          // after close(): the groups that hold elements
  std::uint32_t* listed_ = nullptr;  // codes; after close() places in ascending order; room for twice kMostListed
  std::uint32_t group_count_ = 0;
  bool lists_ = false;                                                  // codes are listed, and no bins are used so far
  std::uint32_t listed_count_ = 0, listed_begin_ = 0, listed_end_ = 0;  // after close(): [begin, end) excludes NaN
  bool has_odd_ = false, has_wide_ = false;                             // whether they hold any count
  bool notes_use_ = true;
  std::uint64_t narrow_elements_ = 0;  // elements counted in even_ and odd_
};

// The bins of a pass: a closed counter or the bins of a partial. A view: it owns nothing.
struct BinsView {
  const BinCounter* counter = nullptr;
  std::span<const BinCount> kept{};

  std::optional<std::uint32_t> place_of_rank(std::uint64_t rank) const;
};

// Adds `from` to `into`. Throws if there is no memory; `into` is unchanged then.
void merge(std::vector<BinCount>& into, const BinsView& from);

}  // namespace tensorstat
