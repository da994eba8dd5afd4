#include "host/pair/same_elements.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "precision/scalars.hpp"
#include "stats/core/engine/pair_layout.hpp"
#include "stats/core/engine/stored_float.hpp"

namespace {
#include "precision/exact.h"
}

namespace tensorstat::host {
namespace {

// The size of the element with this key, as binary64.
double size_of_key(Dtype dtype, std::int64_t key) {
  if (is_float(dtype)) return std::fabs(float_of_key(dtype, key));
  if (dtype == Dtype::kUint64) return static_cast<double>(static_cast<std::uint64_t>(key) ^ std::uint64_t{1} << 63);
  return std::fabs(static_cast<double>(key));
}

// Adds a sum with a unit of 2^position units of `to`.
void add_sum(std::span<const std::int64_t> sum, std::uint32_t position, std::span<std::int64_t> to) {
  for (std::size_t i = 0; i < sum.size(); ++i, position += 32) {
    if (sum[i] == 0) continue;  // mostly
    if (position % 32 == 0) {
      to[position / 32] += sum[i];
    } else {
      deposit(to.data(), sum[i], position);
    }
  }
}

}  // namespace

std::uint64_t SameElements::take(const std::uint8_t* a, const std::uint8_t* b, std::uint64_t count) {
  if (!may_be_) return 0;
  const std::size_t most = std::min<std::uint64_t>(count * size_bytes(dtype_), kMostBytes);
  std::size_t bytes = 0;
  while (bytes < most) {
    const std::size_t piece = std::min(kPieceBytes, most - bytes);
    if (std::memcmp(a + bytes, b + bytes, piece) != 0) break;
    bytes += piece;
  }
  const std::uint64_t taken = bytes / size_bytes(dtype_);
  if (taken == 0) return 0;
  if (!folder_) folder_.emplace(dtype_, Precision::kHigh, kNeeds, words_);
  folder_->take({reinterpret_cast<const std::byte*>(a), bytes}, taken);
  return taken;
}

void SameElements::add_to(std::span<std::int64_t> words) const {
  if (!folder_) return;
  const std::int64_t count = words_[PARTIAL_COUNT], nans = words_[PARTIAL_NANS];
  words[PAIR_COUNT] += count;
  words[PAIR_BOTH_NAN] += nans;
  words[PAIR_SAME_INF] += words_[PARTIAL_POSITIVE_INFS] + words_[PARTIAL_NEGATIVE_INFS];
  words[PAIR_UNDER_1000TH] += count;
  words[PAIR_UNDER_200TH] += count;

  std::size_t at_highest = PARTIAL_HIGHEST, at_lowest = PARTIAL_LOWEST;
  if (is_float(dtype_)) {
    at_highest = first_element(dtype_) + ELEMENT_WORD_FINITE_HIGHEST;
    at_lowest = first_element(dtype_) + ELEMENT_WORD_FINITE_LOWEST;
  }
  const std::int64_t highest = words_[at_highest], lowest = ~words_[at_lowest];
  const double peak = highest < lowest ? 0 : std::max(size_of_key(dtype_, highest), size_of_key(dtype_, lowest));
  words[PAIR_PEAK] = std::max(words[PAIR_PEAK], std::bit_cast<std::int64_t>(peak));

  const Accumulator& squares = layout(dtype_).sums()[EXACT_SQUARES];
  const PartialLayout& pair = pair_layout(dtype_, dtype_);
  for (const std::size_t sum : {PAIR_SUM_PRODUCTS, PAIR_SUM_SQUARES_A, PAIR_SUM_SQUARES_B}) {
    const Accumulator& to = pair.sums()[sum];
    add_sum(squares.of(std::span<const std::int64_t>(words_)),
            static_cast<std::uint32_t>(squares.exponent - to.exponent), to.of(words));
  }
}

}  // namespace tensorstat::host
