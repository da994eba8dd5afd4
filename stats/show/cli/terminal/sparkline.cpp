#include "stats/show/cli/terminal/sparkline.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace tensorstat::cli {

std::string sparkline(const ExponentCounts& counts) {
  constexpr std::string_view kBars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
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
    const double height = std::ceil(static_cast<double>(count) / most * std::size(kBars));
    text += count == 0 ? " " : kBars[static_cast<std::size_t>(height) - 1];
  }
  return text + " " + std::to_string(last);
}

}  // namespace tensorstat::cli
