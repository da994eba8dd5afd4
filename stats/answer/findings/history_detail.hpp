// Values of a row that only pictures show: counts of casts, and exponents.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <tensorstat/statistics.hpp>
#include <vector>

namespace tensorstat {

inline constexpr Category kCastCounts[] = {
    Category::kFloat16Underflow, Category::kFloat16Overflow, Category::kBfloat16Underflow, Category::kBfloat16Overflow,
    Category::kE4m3fnUnderflow,  Category::kE4m3fnOverflow,  Category::kE5m2Underflow,     Category::kE5m2Overflow};

struct HistoryDetail {
  std::array<double, std::size(kCastCounts)> casts;  // as kCastCounts; NaN: not measured
  // Shares of the elements, each as a code: zeros and subnormals together, then each binade from `lowest` on. Code 0:
  // no element; other codes: a share of 2^((code - 255) / 6). Empty: exponents were not measured.
  int lowest = 0;
  std::vector<std::uint8_t> shares;
};

// nullopt: the row has none of it.
std::optional<HistoryDetail> detail_of(const StatisticsView& statistics);

}  // namespace tensorstat
