// The counts that quantiles are read from: how many elements lie in each bin of their dtype. They stand beside a
// partial's words, as there are up to half a million of them.
//
// A bin of a dtype of 8 or 16 bits is one value. One of float32 and float64 is what shares the sign, the exponent and
// the upper 7 bits of the mantissa; one of a wider integer what shares the sign, the highest bit of |x| and the 9 bits
// behind that. -0 is below +0. NaN is in no bin.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <tensorstat/partial.hpp>
#include <vector>

namespace tensorstat {

// Counts elements, piece after piece, in a block of memory that is kept from tensor to tensor: 1 MiB, of float64 8.
// Only the pages of bins that hold elements are ever touched, or looked at; and of few elements none: those are sorted.
class BinCounter {
 public:
  // Of no elements of this dtype; of those that were there before, clear() comes first. Throws where there is no
  // memory.
  void open(Dtype dtype);
  // How many elements the next piece has, before it is counted in parts: of many it is cheaper to look at every bin in
  // the end than to note which are used.
  void expect(std::uint64_t elements);
  // The first `number` elements of these bytes.
  void count(std::span<const std::byte> elements, std::uint64_t number);
  // What a device has found of the next piece: the codes of its elements, or how many of them have each code.
  void take_codes(std::span<const std::byte> codes);
  void take_counts(std::span<const std::uint32_t> counts, std::uint64_t elements);
  // What another has counted, of the same dtype.
  void add(const BinCounter& other);
  // After the last element, and before it is read: given the words of the same elements' partial. Some codes are of Inf
  // and NaN, and the words tell these apart.
  void close(std::span<const std::int64_t> words);
  void clear();

  // Once closed. The bin with the element of this rank, from 1 on.
  std::optional<std::uint32_t> place_of_rank(std::uint64_t rank) const;
  // Appends the bins that hold elements, in ascending order.
  void append_to(std::vector<BinCount>& bins) const;
  std::size_t most_bins() const { return lists_ ? listed_end_ - listed_begin_ : std::size_t{kGroup} * group_count_; }

 private:
  // Bins are counted by the code of an element, which is cheap to have: its bits, or the upper ones of them.
  static constexpr std::uint32_t kGroup = 64;  // bins whose use is noted as one
  static constexpr std::uint32_t kMostListed = 4096;  // elements that are sooner sorted than counted
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
  void will_take(std::uint64_t elements);  // they still fit into even_ and odd_
  void widen();

  struct Free {
    void operator()(void* block) const { std::free(block); }
  };
  std::unique_ptr<void, Free> block_;
  std::uint32_t room_ = 0;  // bins that the block is made for

  Dtype dtype_ = Dtype::kFloat32;
  std::uint32_t bins_ = 0;
  // In the block. Of many elements, neighbours are counted in different ones of the first two, so that an addition
  // seldom waits for the one before; `wide_` has what these might not hold.
  std::uint32_t *even_ = nullptr, *odd_ = nullptr;
  std::uint64_t* wide_ = nullptr;
  std::uint8_t* used_ = nullptr;  // for each group of codes: whether any may have been counted
  Group* groups_ = nullptr;       // those that hold elements, once closed
  std::uint32_t* listed_ = nullptr;  // codes, and once closed places in ascending order; room for twice as many
  std::uint32_t group_count_ = 0;
  bool lists_ = false;  // nothing is counted so far
  std::uint32_t listed_count_ = 0, listed_begin_ = 0, listed_end_ = 0;  // once closed [begin, end) are no NaN
  bool has_odd_ = false, has_wide_ = false;  // whether anything is in there
  bool notes_use_ = true;
  std::uint64_t narrow_elements_ = 0;  // in even_ and odd_
};

// What a pass found for quantiles: a closed counter, or what a partial keeps. Seen, not held.
struct BinsView {
  const BinCounter* counter = nullptr;
  std::span<const BinCount> kept{};

  std::optional<std::uint32_t> place_of_rank(std::uint64_t rank) const;
};

// Adds what was found to what is kept. Throws where there is no memory, and has changed nothing then.
void merge(std::vector<BinCount>& into, const BinsView& from);

}  // namespace tensorstat
