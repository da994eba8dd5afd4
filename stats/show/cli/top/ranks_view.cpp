#include <algorithm>
#include <cmath>

#include "stats/show/cli/terminal/text_width.hpp"
#include "stats/show/cli/top/screen_text.hpp"
#include "stats/show/cli/top/top_screen.hpp"

namespace tensorstat::cli::top {

std::string TopScreen::rate_of(std::uint32_t rank, std::uint64_t rows) {
  Mark& mark = marks_[rank];
  const auto now = std::chrono::steady_clock::now();
  const double seconds = std::chrono::duration<double>(now - mark.when).count();
  if (mark.when.time_since_epoch().count() == 0) {
    mark = {now, rows};
  } else if (seconds >= 4) {
    mark = {now, rows, static_cast<double>(rows - std::min(rows, mark.rows)) / seconds, true};
  }
  return mark.is_known ? short_number(std::round(mark.rate)) : "";
}

std::vector<std::string> TopScreen::ranks_view(std::size_t columns, std::size_t rows) {
  const auto& ranks = run_.ranks();
  std::uint64_t newest = 0;
  for (const auto& [rank, news] : ranks) newest = std::max(newest, news.last_iteration);
  std::vector<std::string> lines = {
      painted(kSoft, elided(right("rank", 6) + right("iteration", 11) + right("behind", 8) + right("rows", 13) +
                                right("rows/s", 9) + right("last row", 11),
                            columns))};
  scroll_to_chosen(ranks.size(), rows - 1);
  std::size_t next = 0;
  for (const auto& [rank, news] : ranks) {
    const std::size_t number = next++;
    const std::string rate = rate_of(rank, news.rows);
    if (number < first_ || number >= first_ + rows - 1) continue;
    const std::uint64_t behind = newest - news.last_iteration;
    const std::string age = age_of(news);
    std::string line = right(std::to_string(rank), 6) + right(std::to_string(news.last_iteration), 11) +
                       right(behind == 0 ? "" : std::to_string(behind), 8) + right(with_commas(news.rows), 13) +
                       right(rate, 9) + right(age == "?" ? "?" : age + " ago", 11);
    line = elided(line, columns);
    lines.push_back(number == chosen_ ? painted(kChosen, line) : behind > 1 ? painted(kWarning, line) : line);
  }
  return lines;
}

}  // namespace tensorstat::cli::top
