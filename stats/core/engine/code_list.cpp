#include "stats/core/engine/code_list.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "precision/partial.h"
#include "stats/core/engine/quantile_codes.hpp"

namespace tensorstat {

// A radix sort, first by the lower half of a place's bits, then by the upper half.
void CodeList::sort(Dtype dtype, std::span<const std::int64_t> words) {
  const Coding& how = coding(dtype);
  const std::uint32_t half = how.bins / 2, low_bits = (std::bit_width(how.bins - 1) + 1u) / 2;
  const std::uint32_t low = (1u << low_bits) - 1;
  constexpr std::size_t kMostDigits = 1 << 10;
  std::array<std::uint32_t, kMostDigits> lower, upper;
  const std::span<std::uint32_t> digits[] = {std::span(lower).first(low + 1),
                                             std::span(upper).first(how.bins >> low_bits)};
  for (const auto& counts : digits) std::ranges::fill(counts, 0);
  std::uint32_t* const places = codes_.get();
  std::uint32_t* const between = codes_.get() + kMost;
  const std::uint32_t turned = how.order == Order::kUnsigned ? 0 : half;
  const std::uint32_t backwards = how.order == Order::kMagnitude ? half - 1 : 0;
  for (std::uint32_t i = 0; i < size_; ++i) {
    const std::uint32_t code = places[i];
    places[i] = code ^ turned ^ (backwards & (0u - static_cast<std::uint32_t>((code & half) != 0)));
  }
  for (std::uint32_t i = 0; i < size_; ++i) {
    ++lower[places[i] & low];
    ++upper[places[i] >> low_bits];
  }
  for (const auto& counts : digits) std::exclusive_scan(counts.begin(), counts.end(), counts.begin(), 0u);
  for (std::uint32_t i = 0; i < size_; ++i) between[lower[places[i] & low]++] = places[i];
  for (std::uint32_t i = 0; i < size_; ++i) places[upper[between[i] >> low_bits]++] = between[i];

  const Places all = places_of(dtype);
  const std::span sorted(places, size_);
  // Not std::ranges: clang 14 does not compile its subranges.
  const auto at_first = std::equal_range(sorted.begin(), sorted.end(), all.first);
  const auto at_last = std::equal_range(sorted.begin(), sorted.end(), all.last);
  begin_ = static_cast<std::uint32_t>(at_first.first - sorted.begin());
  end_ = static_cast<std::uint32_t>(at_last.second - sorted.begin());
  if (!how.mixes_infinity) return;
  const auto lowest = static_cast<std::uint32_t>(at_first.second - at_first.first);
  const auto highest = static_cast<std::uint32_t>(at_last.second - at_last.first);
  begin_ += lowest - static_cast<std::uint32_t>(words[PARTIAL_NEGATIVE_INFS]);
  end_ -= highest - static_cast<std::uint32_t>(words[PARTIAL_POSITIVE_INFS]);
}

std::optional<std::uint32_t> CodeList::place_of_rank(std::uint64_t rank) const {
  return rank - 1 < end_ - begin_ ? std::optional(codes_[begin_ + rank - 1]) : std::nullopt;
}

void CodeList::append_to(std::vector<BinCount>& bins) const {
  for (std::uint32_t i = begin_; i < end_; ++i) {
    const bool is_new = i == begin_ || codes_[i] != codes_[i - 1];
    is_new ? bins.push_back({codes_[i], 1}) : void(++bins.back().count);
  }
}

}  // namespace tensorstat
