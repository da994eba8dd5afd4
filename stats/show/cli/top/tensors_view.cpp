#include <algorithm>
#include <cmath>

#include "stats/answer/findings/series_rules.hpp"
#include "stats/core/base/printable.hpp"
#include "stats/show/cli/top/screen_text.hpp"
#include "stats/show/cli/top/series_facts.hpp"
#include "stats/show/cli/top/top_screen.hpp"

namespace tensorstat::cli::top {

void TopScreen::list_tensors() {
  if (listed_rows_ == run_.history().row_count()) return;
  listed_rows_ = run_.history().row_count();
  const History& history = run_.history();
  tensors_.clear();
  std::vector<std::size_t> place(history.tensors().size(), SIZE_MAX);
  for (const HistorySeries& series : history.series()) {
    if (series.cells.empty() || !fits(label_of(history, series), filter_)) continue;
    Listed listed{.tensor = series.tensor,
                  .rank = series.rank,
                  .has_fault = holds_fault(history, series.cells.back()),
                  .size = size_in(history, series.cells.back())};
    if (sort_ == Sort::kChange) listed.change = std::fabs(std::log(std::max(change_of(history, series), 1e-300)));
    if (sort_ == Sort::kChange && change_of(history, series) == 0) listed.change = 0;
    std::size_t& index = place[series.tensor];
    if (index == SIZE_MAX) {
      index = tensors_.size();
      tensors_.push_back(listed);
    } else if (std::pair(listed.has_fault, listed.change) >
               std::pair(tensors_[index].has_fault, tensors_[index].change)) {
      tensors_[index] = listed;
    }
  }
  const auto by = [&](auto key) { std::ranges::stable_sort(tensors_, std::ranges::greater(), key); };
  if (sort_ == Sort::kChange) by([](const Listed& each) { return std::pair(each.has_fault, each.change); });
  if (sort_ == Sort::kSize) {
    by([](const Listed& each) { return std::pair(each.has_fault, std::isnan(each.size) ? -1.0 : each.size); });
  }
  if (sort_ == Sort::kName) {
    std::ranges::stable_sort(tensors_, {}, [&](const Listed& each) { return history.op_name(each.tensor); });
  }
}

std::vector<std::string> TopScreen::tensors_view(std::size_t columns, std::size_t rows) {
  list_tensors();
  if (tensors_.empty()) {
    return {"", filter_.empty() ? "" : "  No tensor's name has '" + printable(filter_) + "'."};
  }
  constexpr std::string_view kSorts[] = {"in order", "by change", "by size", "by name"};
  const std::size_t list_rows = rows - 1;
  scroll_to_chosen(tensors_.size(), list_rows);
  const bool has_ranks = run_.ranks().size() > 1;
  const std::size_t bars = columns >= 100 ? 30 : 16, others = 10 + 10 + 10 + bars + 4 + (has_ranks ? 5 : 0);
  const std::size_t name = columns > others + 12 ? columns - others : 12;
  const History& history = run_.history();
  std::vector<std::string> lines = {
      painted(kSoft, left("tensor (" + std::string(kSorts[static_cast<int>(sort_)]) + ", s)", name) +
                         (has_ranks ? right("rank", 5) : "") + right("size", 10) + right("x median", 10) +
                         right("fault at", 10) + "  " + left("over time", bars))};
  for (std::size_t i = first_; i < std::min(tensors_.size(), first_ + list_rows); ++i) {
    const Listed& listed = tensors_[i];
    const HistorySeries& series = *history.series(listed.tensor, listed.rank);
    const double change = change_of(history, series);
    const auto fault =
        std::ranges::find_if(series.cells, [&](const HistoryCell& cell) { return holds_fault(history, cell); });
    const bool had_fault = fault != series.cells.end();
    std::string line = left(printable(label_of(history, series)), name);
    if (has_ranks) line += right(std::to_string(listed.rank), 5);
    line += right(short_number(listed.size), 10) + right(change == 0 ? "" : short_number(change), 10) +
            right(had_fault ? std::to_string(history.iteration(*fault)) : "", 10) + "  ";
    line += series_bars(pooled_worst(values_of(history, series), bars), 1).front();
    lines.push_back(i == chosen_ ? painted(kChosen, line) : had_fault ? painted(kFault, line) : line);
  }
  return lines;
}

}  // namespace tensorstat::cli::top
