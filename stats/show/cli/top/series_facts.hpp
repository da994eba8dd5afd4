// The facts about a tensor's values over the iterations, for the screen.
#pragma once

#include "stats/answer/findings/history.hpp"
#include "stats/show/cli/terminal/series_line.hpp"

namespace tensorstat::cli::top {

// Whether the cell has NaN or Inf.
bool holds_fault(const History& history, const HistoryCell& cell);

// The size of a cell's tensor: NaN if it has NaN, Inf if it has Inf.
double size_in(const History& history, const HistoryCell& cell);

// The last size over the median of the sizes before it; 0 if there are too few of them.
double change_of(const History& history, const HistorySeries& series);

// The sizes of all cells; nullopt where a cell has none.
SeriesValues values_of(const History& history, const HistorySeries& series);

}  // namespace tensorstat::cli::top
