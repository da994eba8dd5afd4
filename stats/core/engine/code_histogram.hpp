// How many elements have each code (precision/codes.h) of a dtype. Only the pages of codes that occur are touched.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <tensorstat/partial.hpp>
#include <vector>

namespace tensorstat {

class CodeHistogram {
 public:
  // Starts an empty count. Call clear() first if the histogram holds elements. Throws without memory.
  void open(Dtype dtype);
  // Announces the number of elements that come next.
  void expect(std::uint64_t elements);

  template <typename Bits, typename CodeOf>
  void count(std::span<const std::byte> elements, const CodeOf& code_of);
  // The same for codes that take some work: computes many at once in vectors.
  template <typename Bits, typename CodeOf>
  void count_in_vectors(std::span<const std::byte> elements, const CodeOf& code_of);
  void add(std::uint32_t code, std::uint64_t times);
  void add(std::span<const std::uint32_t> counts, std::uint64_t elements);
  void add(const CodeHistogram& other);

  // See BinCounter.
  void close(std::span<const std::int64_t> words);
  void clear();
  std::optional<std::uint32_t> place_of_rank(std::uint64_t rank) const;
  void append_to(std::vector<BinCount>& bins) const;
  std::size_t most_bins() const { return std::size_t{kGroup} * group_count_; }

 private:
  static constexpr std::uint32_t kGroup = 64;  // codes that share a byte of used_
  struct Group {
    std::uint32_t first_place;
    std::uint64_t below;  // elements in all groups before it
  };

  template <typename Bits, typename CodeOf>
  void count_taken(std::span<const std::byte> elements, const CodeOf& code_of);  // after will_take()
  template <typename Visit>
  void for_each_used(std::uint32_t first_code, std::uint32_t end_code, bool backwards, const Visit& visit) const;
  bool is_used(std::uint32_t code) const { return used_[code / kGroup] != 0; }
  std::uint64_t at(std::uint32_t code) const;
  std::uint64_t in_group(std::uint32_t first_code) const;
  void set(std::uint32_t code, std::uint64_t count);
  std::uint32_t code_of_place(std::uint32_t place) const;
  void will_take(std::uint64_t elements);  // makes sure that even_ and odd_ do not overflow
  void widen();
  void merge_bools();
  void drop_nan();
  void order_groups();

  struct Free {
    void operator()(void* block) const { std::free(block); }
  };
  std::unique_ptr<void, Free> block_;
  std::uint32_t room_ = 0;  // the codes for which the block has room

  Dtype dtype_ = Dtype::kFloat32;
  std::uint32_t codes_ = 0;  // of the dtype
  // Pointers into the block. A code's count is the sum of the three.
  std::uint32_t *even_ = nullptr, *odd_ = nullptr;
  std::uint64_t* wide_ = nullptr;
  std::uint8_t* used_ = nullptr;  // for each group of codes: whether any may occur
  Group* groups_ = nullptr;       // after close(): the groups with elements, in ascending order of value
  std::uint32_t group_count_ = 0;
  // Many elements are to come. Neighbours are then counted in even_ and odd_ by turns, so that an addition seldom waits
  // for the one before, and each group counts as used. Otherwise odd_ is 0, and used_ is noted for each element.
  bool is_dense_ = false;
  bool has_wide_ = false;              // otherwise wide_ is 0
  std::uint64_t narrow_elements_ = 0;  // elements counted in even_ and odd_
};

inline void CodeHistogram::will_take(std::uint64_t elements) {
  if (elements > std::numeric_limits<std::uint32_t>::max() - narrow_elements_) widen();
  narrow_elements_ += elements;
}

template <typename Bits, typename CodeOf>
void CodeHistogram::count(std::span<const std::byte> elements, const CodeOf& code_of) {
  will_take(elements.size() / sizeof(Bits));
  count_taken<Bits>(elements, code_of);
}

template <typename Bits, typename CodeOf>
[[gnu::always_inline]] inline void CodeHistogram::count_taken(std::span<const std::byte> elements,
                                                              const CodeOf& code_of) {
  const std::size_t count = elements.size() / sizeof(Bits);
  // Local copies: the compiler must assume that a write to a count changes the members.
  const std::byte* const from = elements.data();
  std::uint32_t *const even = even_, *const odd = odd_;
  std::uint8_t* const used = used_;
  const auto code_at = [=](std::size_t i) {
    Bits bits;
    std::memcpy(&bits, from + i * sizeof bits, sizeof bits);
    return code_of(bits);
  };
  const auto note = [=](std::uint32_t code) {
    ++even[code];
    used[code / kGroup] = 1;
  };
  // Scalar on purpose: codes computed in a vector would have to be extracted one by one.
  std::size_t i = 0;
  if (is_dense_) {
    for (; i + 4 <= count; i += 4) {
      ++even[code_at(i)];
      ++odd[code_at(i + 1)];
      ++even[code_at(i + 2)];
      ++odd[code_at(i + 3)];
    }
  } else {
    for (; i + 4 <= count; i += 4) {
      note(code_at(i));
      note(code_at(i + 1));
      note(code_at(i + 2));
      note(code_at(i + 3));
    }
  }
  for (; i < count; ++i) note(code_at(i));
}

template <typename Bits, typename CodeOf>
void CodeHistogram::count_in_vectors(std::span<const std::byte> elements, const CodeOf& code_of) {
  will_take(elements.size() / sizeof(Bits));
  constexpr std::size_t kAtOnce = 512;
  std::array<std::uint16_t, kAtOnce> codes;
  std::array<Bits, kAtOnce> bits;
  while (!elements.empty()) {
    const std::size_t bytes = std::min(elements.size(), sizeof bits), some = bytes / sizeof(Bits);
    std::memcpy(bits.data(), elements.data(), bytes);
    for (std::size_t i = 0; i < some; ++i) codes[i] = static_cast<std::uint16_t>(code_of(bits[i]));
    count_taken<std::uint16_t>(std::as_bytes(std::span(codes).first(some)), [](std::uint32_t code) { return code; });
    elements = elements.subspan(bytes);
  }
}

}  // namespace tensorstat
