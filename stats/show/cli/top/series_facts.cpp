#include "stats/show/cli/top/series_facts.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

namespace tensorstat::cli::top {

namespace {

constexpr std::size_t kPast = 50, kFewest = 5;  // the most and the fewest earlier values for a change

}  // namespace

bool holds_fault(const History& history, const HistoryCell& cell) {
  return history.has_nan(cell) || history.has_inf(cell);
}

double size_in(const History& history, const HistoryCell& cell) {
  if (history.has_nan(cell)) return NAN;
  if (history.has_inf(cell)) return INFINITY;
  return history.size(cell);
}

double change_of(const History& history, const HistorySeries& series) {
  const auto& cells = series.cells;
  if (cells.size() <= kFewest) return 0;
  std::vector<double> past;
  for (std::size_t i = cells.size() - 1 - std::min(kPast, cells.size() - 1); i + 1 < cells.size(); ++i) {
    const double size = history.size(cells[i]);
    if (std::isfinite(size) && size > 0) past.push_back(size);
  }
  const double last = history.size(cells.back());
  if (past.size() < kFewest || !std::isfinite(last) || last <= 0) return 0;
  const auto middle = past.begin() + static_cast<std::ptrdiff_t>(past.size() / 2);
  std::nth_element(past.begin(), middle, past.end());
  return last / *middle;
}

SeriesValues values_of(const History& history, const HistorySeries& series) {
  SeriesValues values;
  values.reserve(series.cells.size());
  for (const HistoryCell& cell : series.cells) {
    const double size = size_in(history, cell);
    values.emplace_back(std::isnan(size) && !history.has_nan(cell) ? std::nullopt : std::optional(size));
  }
  return values;
}

}  // namespace tensorstat::cli::top
