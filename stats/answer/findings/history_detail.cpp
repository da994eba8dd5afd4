#include "stats/answer/findings/history_detail.hpp"

#include <algorithm>
#include <cmath>

namespace tensorstat {
namespace {

std::uint8_t code_of_share(std::uint64_t count, double total) {
  if (count == 0) return 0;
  return static_cast<std::uint8_t>(std::max(1.0, 255 + std::round(6 * std::log2(static_cast<double>(count) / total))));
}

void take_exponents(const ExponentCounts& counts, HistoryDetail& detail) {
  double total = 0;
  for (const std::uint64_t count : {counts.zero, counts.subnormal, counts.inf, counts.nan}) {
    total += static_cast<double>(count);
  }
  for (const ExponentCounts::Binade& binade : counts.binades) total += static_cast<double>(binade.count);
  std::size_t width = 0;
  if (!counts.binades.empty()) {
    // A dtype has at most some 2,100 binades; a row that was read may claim any.
    const std::int64_t first = counts.binades.front().exponent, last = counts.binades.back().exponent;
    if (first < -1100 || last > 1100 || last < first) return;
    detail.lowest = static_cast<int>(first);
    width = static_cast<std::size_t>(last - first) + 1;
  }
  detail.shares.assign(1 + width, 0);
  detail.shares[0] = code_of_share(counts.zero + counts.subnormal, total);
  for (const ExponentCounts::Binade& binade : counts.binades) {
    const std::int64_t offset = std::int64_t{binade.exponent} - detail.lowest;
    if (offset >= 0 && offset < static_cast<std::int64_t>(width)) {
      detail.shares[1 + static_cast<std::size_t>(offset)] = code_of_share(binade.count, total);
    }
  }
}

}  // namespace

std::optional<HistoryDetail> detail_of(const StatisticsView& statistics) {
  std::optional<HistoryDetail> detail;
  const auto made = [&]() -> HistoryDetail& {
    if (!detail) detail.emplace().casts.fill(NAN);
    return *detail;
  };
  for (std::size_t i = 0; i < statistics.categories.size(); ++i) {
    const Value& value = statistics.values[i];
    if (const auto* exponents = std::get_if<Exponents>(&value)) take_exponents(**exponents, made());
    const auto* count = std::get_if<std::uint64_t>(&value);
    const auto* cast = std::ranges::find(kCastCounts, statistics.categories[i]);
    if (count != nullptr && cast != std::end(kCastCounts)) {
      made().casts[static_cast<std::size_t>(cast - kCastCounts)] = static_cast<double>(*count);
    }
  }
  return detail;
}

}  // namespace tensorstat
