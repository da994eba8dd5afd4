#include <algorithm>
#include <cmath>

#include "stats/answer/findings/series_rules.hpp"
#include "stats/core/base/printable.hpp"
#include "stats/show/cli/terminal/text_width.hpp"
#include "stats/show/cli/top/screen_text.hpp"
#include "stats/show/cli/top/series_facts.hpp"
#include "stats/show/cli/top/top_screen.hpp"

namespace tensorstat::cli::top {

std::vector<std::string> TopScreen::tensor_view(std::size_t columns, std::size_t rows) const {
  const History& history = run_.history();
  const HistorySeries* series = history.series(tensor_, rank_);
  if (series == nullptr || series->cells.empty()) return {"", "  The tensor has no rows any more."};
  const HistoryKind& kind = history.kinds()[series->cells.back().kind];
  const std::size_t table_rows = rows >= 16 ? 6 : 3, others = table_rows + 4;
  const std::size_t picture_rows = rows > others + 3 ? rows - others : 3;
  std::vector<std::string> lines;
  lines.push_back(painted(kBold, elided(printable(label_of(history, *series)), columns)));
  std::string what = printable(history.op_type(tensor_)) + "  " + printable(history.texts()[kind.dtype]) + " " +
                     printable(history.texts()[kind.shape]) + "  rank " + std::to_string(rank_);
  if (run_.ranks().size() > 1) what += "  ([ ] another rank)";
  lines.push_back(painted(kSoft, elided(what, columns)));
  constexpr std::size_t kScale = 10;
  const SeriesValues values = pooled_worst(values_of(history, *series), columns - kScale - 1);
  double low = INFINITY, high = 0;
  for (const auto& value : values) {
    if (!value || !std::isfinite(*value) || *value == 0) continue;
    low = std::min(low, *value);
    high = std::max(high, *value);
  }
  const auto bars = series_bars(values, picture_rows);
  for (std::size_t row = 0; row < bars.size(); ++row) {
    const std::string scale = row == 0 && high > 0                 ? short_number(high)
                              : row + 1 == bars.size() && high > 0 ? short_number(low)
                                                                   : "";
    const bool has_fault =
        row == 0 && std::ranges::any_of(values, [](const auto& value) { return value && !std::isfinite(*value); });
    lines.push_back(painted(kSoft, right(scale, kScale - 1) + " ") +
                    (has_fault ? painted(kFault, bars[row]) : bars[row]));
  }
  const std::string first = std::to_string(history.iteration(series->cells.front())),
                    last = std::to_string(history.iteration(series->cells.back()));
  const std::size_t drawn = values.size();
  lines.push_back(
      painted(kSoft, std::string(kScale, ' ') + first +
                         (drawn > first.size() + last.size() + 1 ? right(last, drawn - first.size()) : "")));
  const std::size_t wide = std::clamp<std::size_t>((columns - 10) / 5, 9, 14);
  std::string heading = right("iteration", 10);
  for (const std::string_view each : {"max", "min", "avg", "l2norm", "NaN, Inf"}) heading += right(each, wide);
  lines.push_back(painted(kSoft, elided(heading, columns)));
  const std::size_t from = series->cells.size() - std::min(series->cells.size(), table_rows);
  for (std::size_t i = series->cells.size(); i-- > from;) {
    const HistoryCell& cell = series->cells[i];
    const HistoryKind& of_cell = history.kinds()[cell.kind];
    const auto value = [&](HistoryBit bit, double number) {
      return right(of_cell.has(bit) ? short_number(number) : "", wide);
    };
    std::string counts;
    if (of_cell.nan != 0) counts = std::to_string(of_cell.nan) + " NaN";
    const std::uint64_t infs = of_cell.positive_inf + of_cell.negative_inf;
    if (infs != 0) counts += (counts.empty() ? "" : ", ") + std::to_string(infs) + " Inf";
    if (counts.empty() && holds_fault(history, cell)) counts = history.has_nan(cell) ? "NaN" : "Inf";
    const std::string line = elided(right(std::to_string(history.iteration(cell)), 10) + value(kHasMax, cell.max) +
                                        value(kHasMin, cell.min) + value(kHasAvg, cell.avg) +
                                        value(kHasL2norm, cell.l2norm) + right(counts, wide),
                                    columns);
    lines.push_back(holds_fault(history, cell) ? painted(kFault, line) : line);
  }
  return lines;
}

}  // namespace tensorstat::cli::top
