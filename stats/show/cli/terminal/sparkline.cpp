#include "stats/show/cli/terminal/sparkline.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "stats/show/cli/terminal/bars.hpp"

namespace tensorstat::cli {

std::string sparkline(const ExponentCounts& counts) {
  constexpr int kMostBars = 10;
  if (counts.binades.empty()) return "";
  const int least = counts.binades.front().exponent, last = counts.binades.back().exponent;
  const int first = std::max(least, last - kMostBars + 1);
  std::array<std::uint64_t, kMostBars> bars{};
  for (const auto& [exponent, count] : counts.binades)
    bars[static_cast<std::size_t>(std::max(exponent, first) - first)] += count;
  const auto most = static_cast<double>(std::ranges::max(bars));
  std::string text = (least < first ? "≤" : "") + std::to_string(first) + " ";
  for (const std::uint64_t count : std::span(bars).first(static_cast<std::size_t>(last - first + 1))) {
    const double height = std::ceil(static_cast<double>(count) / most * kEighths);
    text += bar(static_cast<std::size_t>(height));
  }
  return text + " " + std::to_string(last);
}

}  // namespace tensorstat::cli
