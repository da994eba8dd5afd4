// The codes (precision/codes.h) of few elements. Sorting these takes less time than counting them in bins.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <tensorstat/partial.hpp>
#include <vector>

namespace tensorstat {

class CodeList {
 public:
  // Throws without memory.
  void allocate() {
    if (codes_ == nullptr) codes_ = std::make_unique_for_overwrite<std::uint32_t[]>(2 * kMost);
  }
  bool has_room(std::uint64_t elements) const { return elements <= kMost - size_; }
  // Appends the codes of these elements. The caller has checked that there is room.
  template <typename Bits, typename CodeOf>
  void append(std::span<const std::byte> elements, const CodeOf& code_of) {
    std::uint32_t* const to = codes_.get() + size_;
    const std::size_t count = elements.size() / sizeof(Bits);
    for (std::size_t i = 0; i < count; ++i) {
      Bits bits;
      std::memcpy(&bits, elements.data() + i * sizeof bits, sizeof bits);
      to[i] = code_of(bits);
    }
    size_ += static_cast<std::uint32_t>(count);
  }
  std::span<const std::uint32_t> codes() const { return {codes_.get(), size_}; }

  // Replaces codes by the places of their bins, in ascending order, and leaves NaN out. `words`: the partial of the
  // same elements.
  void sort(Dtype dtype, std::span<const std::int64_t> words);
  void clear() { size_ = begin_ = end_ = 0; }

  // After sort(): see BinCounter.
  std::optional<std::uint32_t> place_of_rank(std::uint64_t rank) const;
  void append_to(std::vector<BinCount>& bins) const;
  std::size_t most_bins() const { return end_ - begin_; }

 private:
  static constexpr std::uint32_t kMost = 4096;  // up to this many elements, sorting is faster

  std::unique_ptr<std::uint32_t[]> codes_;        // the upper half is for sorting
  std::uint32_t size_ = 0, begin_ = 0, end_ = 0;  // after sort(): [begin, end) excludes NaN
};

}  // namespace tensorstat
