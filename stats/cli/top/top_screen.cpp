#include "stats/cli/top/top_screen.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <utility>

#include "stats/base/printable.hpp"
#include "stats/cli/report/text_width.hpp"
#include "stats/findings/finding_rules.hpp"
#include "stats/findings/series_rules.hpp"

namespace tensorstat::cli {
namespace {

constexpr std::string_view kFault = "31", kWarning = "33", kGood = "32", kSoft = "2", kBold = "1", kChosen = "7";
constexpr std::size_t kPast = 50, kFewest = 5;  // values that a change is told against

// A text in a column: cut in its middle, or filled with spaces.
std::string left(std::string_view text, std::size_t columns) {
  std::string cut = elided(text, columns);
  cut.append(columns - std::min(columns, width(cut)), ' ');
  return cut;
}
std::string right(std::string_view text, std::size_t columns) {
  const std::string cut = elided(text, columns);
  return std::string(columns - std::min(columns, width(cut)), ' ') + cut;
}

std::string short_number(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "Inf" : "-Inf";
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", number);
  return text;
}

// "812", "12,345,678"
std::string with_commas(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

std::string shown_age(double seconds) {
  char text[32];
  if (seconds < 100) {
    std::snprintf(text, sizeof text, "%.0f s", std::max(0.0, seconds));
  } else if (seconds < 6000) {
    std::snprintf(text, sizeof text, "%.0f min", seconds / 60);
  } else if (seconds < 48 * 3600) {
    std::snprintf(text, sizeof text, "%.0f h", seconds / 3600);
  } else {
    std::snprintf(text, sizeof text, "%.0f d", seconds / 86400);
  }
  return text;
}

bool holds_fault(const History& history, const HistoryCell& cell) {
  return history.has_nan(cell) || history.has_inf(cell);
}

double size_in(const History& history, const HistoryCell& cell) {
  if (history.has_nan(cell)) return NAN;
  if (history.has_inf(cell)) return INFINITY;
  return history.size(cell);
}

// How many times the last value is the median of those before it; 0: not known.
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

std::string in_lower_case(std::string text) {
  for (char& each : text) each = static_cast<char>(std::tolower(static_cast<unsigned char>(each)));
  return text;
}

bool fits(std::string_view name, std::string_view filter) {
  return filter.empty() || in_lower_case(std::string(name)).find(filter) != std::string::npos;
}

std::string_view style_of(FindingSeverity severity) {
  return severity == FindingSeverity::kError ? kFault : severity == FindingSeverity::kWarning ? kWarning : kSoft;
}

}  // namespace

std::string TopScreen::painted(std::string_view style, std::string text) const {
  const bool is_color = style == kFault || style == kWarning || style == kGood;
  if (text.empty() || !in_style_ || (is_color && !in_color_)) return text;
  return "\x1b[" + std::string(style) + "m" + text + "\x1b[0m";
}

std::string TopScreen::age_of(const LiveRun::RankNews& rank) const {
  using std::chrono::duration;
  const double now_us = duration<double, std::micro>(std::chrono::system_clock::now().time_since_epoch()).count();
  const double by_row = (now_us - static_cast<double>(rank.last_row_us)) / 1e6;
  constexpr double kDecade = 3.2e8;
  if (rank.last_row_us != 0 && by_row < kDecade) return shown_age(by_row);
  if (!rank.is_live) return "?";  // the row was there before, and does not say when it was written
  return shown_age(duration<double>(LiveRun::Clock::now() - rank.last_row).count());
}

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
    std::size_t& at = place[series.tensor];
    if (at == SIZE_MAX) {
      at = tensors_.size();
      tensors_.push_back(listed);
    } else if (std::pair(listed.has_fault, listed.change) > std::pair(tensors_[at].has_fault, tensors_[at].change)) {
      tensors_[at] = listed;
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

std::vector<std::size_t> TopScreen::shown_findings() const {
  std::vector<std::size_t> shown;
  const auto& list = run_.findings().list;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (fits(list[i].op_name + " " + list[i].text + " " + std::string(facts(list[i].rule).name), filter_))
      shown.push_back(i);
  }
  return shown;
}

std::size_t TopScreen::line_count() const {
  switch (view_) {
    case View::kFindings:
      return shown_findings().size();
    case View::kTensors:
      return tensors_.size();
    case View::kRanks:
      return run_.ranks().size();
    case View::kTensor:
    case View::kHelp:
      break;
  }
  return 0;
}

void TopScreen::move(std::ptrdiff_t by) {
  const auto last = static_cast<std::ptrdiff_t>(line_count()) - 1;
  chosen_ = static_cast<std::size_t>(
      std::clamp<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(chosen_) + by, 0, std::max<std::ptrdiff_t>(last, 0)));
}

void TopScreen::open(std::uint32_t tensor, std::uint32_t rank) {
  before_ = view_;
  view_ = View::kTensor;
  tensor_ = tensor;
  rank_ = rank;
}

void TopScreen::open_selected() {
  if (view_ == View::kTensors && chosen_ < tensors_.size()) open(tensors_[chosen_].tensor, tensors_[chosen_].rank);
  if (view_ != View::kFindings) return;
  const auto shown = shown_findings();
  if (chosen_ >= shown.size()) return;
  const Finding& finding = run_.findings().list[shown[chosen_]];
  const History& history = run_.history();
  for (const HistorySeries& series : history.series()) {
    const HistoryTensor& tensor = history.tensors()[series.tensor];
    if (series.rank != finding.rank || history.op_name(series.tensor) != finding.op_name) continue;
    if (!finding.io.empty() && (tensor.is_input != (finding.io == "input") || tensor.slot != finding.slot)) continue;
    return open(series.tensor, series.rank);
  }
  say(finding.op_name.empty() ? "this finding is of a rank, not of a tensor" : "no row has this tensor");
}

void TopScreen::choose_rank(int by) {
  if (view_ != View::kTensor) return;
  std::vector<std::uint32_t> ranks;
  for (const auto& [rank, news] : run_.ranks()) {
    if (run_.history().series(tensor_, rank) != nullptr) ranks.push_back(rank);
  }
  const auto at = std::ranges::find(ranks, rank_) - ranks.begin();
  const auto next = std::clamp<std::ptrdiff_t>(at + by, 0, static_cast<std::ptrdiff_t>(ranks.size()) - 1);
  if (!ranks.empty()) rank_ = ranks[static_cast<std::size_t>(next)];
}

bool TopScreen::press(const Key& key) {
  message_.clear();
  if (key.name == KeyName::kClosed) return false;
  const auto filter_changed = [&] {
    chosen_ = first_ = 0;
    listed_rows_ = UINT64_MAX;
  };
  if (is_typing_) {
    if (key.name == KeyName::kText) filter_ += in_lower_case(key.text);
    if (key.name == KeyName::kBackspace && !filter_.empty()) {
      do {
        filter_.pop_back();
      } while (!filter_.empty() && (static_cast<unsigned char>(filter_.back()) & 0xc0) == 0x80);
    }
    if (key.name == KeyName::kEscape) filter_.clear();
    if (key.name == KeyName::kEnter || key.name == KeyName::kEscape) is_typing_ = false;
    filter_changed();
    return true;
  }
  const auto show = [&](View view) {
    if (view_ != view) chosen_ = first_ = 0;
    view_ = view;
  };
  const auto page = static_cast<std::ptrdiff_t>(std::max<std::size_t>(body_rows_, 2) - 1);
  switch (key.name) {
    case KeyName::kUp:
      return move(-1), true;
    case KeyName::kDown:
      return move(1), true;
    case KeyName::kPageUp:
      return move(-page), true;
    case KeyName::kPageDown:
      return move(page), true;
    case KeyName::kHome:
      return move(-1'000'000'000), true;
    case KeyName::kEnd:
      return move(1'000'000'000), true;
    case KeyName::kLeft:
      return choose_rank(-1), true;
    case KeyName::kRight:
      return choose_rank(1), true;
    case KeyName::kEnter:
      return open_selected(), true;
    case KeyName::kTab:
      show(view_ == View::kFindings ? View::kTensors : view_ == View::kTensors ? View::kRanks : View::kFindings);
      return true;
    case KeyName::kEscape:
    case KeyName::kBackspace:
      if (view_ == View::kTensor || view_ == View::kHelp) {
        view_ = before_;
      } else {
        filter_.clear();
        filter_changed();
      }
      return true;
    case KeyName::kText:
      break;
    default:
      return true;
  }
  switch (key.text[0]) {
    case 'q':
      return false;
    case '1':
      show(View::kFindings);
      break;
    case '2':
      show(View::kTensors);
      break;
    case '3':
      show(View::kRanks);
      break;
    case 'j':
      move(1);
      break;
    case 'k':
      move(-1);
      break;
    case 'g':
      move(-1'000'000'000);
      break;
    case 'G':
      move(1'000'000'000);
      break;
    case '[':
      choose_rank(-1);
      break;
    case ']':
      choose_rank(1);
      break;
    case 's':
      sort_ = sort_ == Sort::kName ? Sort::kOrder : static_cast<Sort>(static_cast<int>(sort_) + 1);
      filter_changed();
      break;
    case '/':
      is_typing_ = true;
      filter_.clear();
      filter_changed();
      break;
    case ' ':
      is_paused_ = !is_paused_;
      break;
    case '?':
    case 'h':
      if (view_ != View::kHelp) before_ = view_;
      view_ = View::kHelp;
      break;
    default:
      break;
  }
  return true;
}

std::vector<std::string> TopScreen::head(std::size_t columns) const {
  const tensorstat::Findings& findings = run_.findings();
  std::uint64_t iteration = 0;
  for (const auto& [rank, news] : run_.ranks()) iteration = std::max(iteration, news.last_iteration);
  const std::string at = run_.ranks().empty() ? "" : "iteration " + std::to_string(iteration);
  const std::size_t room = columns - std::min(columns, at.size() + 2);
  std::vector<std::string> lines = {painted(kBold, left("tensorstat top  " + printable(source_), room)) + "  " + at};

  std::string verdict;
  std::string_view style = kSoft;
  if (run_.is_waiting()) {
    verdict = "Waiting: there is no such file or folder yet";
  } else if (run_.history().row_count() == 0) {
    verdict = "Waiting for the first row";
  } else if (!findings.verdict.empty()) {
    verdict = findings.is_clean() ? "✓ Nothing found" : findings.verdict.front();
    style = findings.is_clean() ? kGood : style_of(facts(findings.list.front().rule).severity);
  } else {
    verdict = "Judging …";
  }
  for (std::string& line : wrapped(printable(verdict), columns, 2)) lines.push_back(painted(style, std::move(line)));

  const History& history = run_.history();
  std::string facts_line = with_commas(history.row_count()) + (history.row_count() == 1 ? " row of " : " rows of ") +
                           with_commas(history.tensors().size()) +
                           (history.tensors().size() == 1 ? " tensor, " : " tensors, ") +
                           std::to_string(run_.ranks().size()) + (run_.ranks().size() == 1 ? " rank" : " ranks");
  const LiveRun::RankNews* latest = nullptr;
  for (const auto& [rank, news] : run_.ranks()) {
    if (latest == nullptr ||
        std::pair(news.last_row_us, news.last_row) > std::pair(latest->last_row_us, latest->last_row)) {
      latest = &news;
    }
  }
  if (latest != nullptr) {
    const std::string age = age_of(*latest);
    if (age != "?") facts_line += ", the last " + age + " ago";
  }
  if (is_paused_) facts_line += "   PAUSED (space)";
  lines.push_back(elided(facts_line, columns));

  std::string tabs;
  const auto tab = [&](View view, const std::string& text) {
    tabs += view_ == view ? painted(kChosen, " " + text + " ") : " " + text + " ";
    tabs += " ";
  };
  const std::size_t count = findings.list.size();
  tab(View::kFindings, "1 Findings" + (count == 0 ? std::string() : " " + std::to_string(count)));
  tab(View::kTensors, "2 Tensors");
  tab(View::kRanks, "3 Ranks");
  if (view_ == View::kTensor) tab(View::kTensor, "Tensor");
  if (view_ == View::kHelp) tab(View::kHelp, "Keys");
  lines.push_back(columns < 50 ? "" : tabs);
  return lines;
}

void TopScreen::scroll_to_chosen(std::size_t count, std::size_t rows) {
  chosen_ = std::min(chosen_, count == 0 ? 0 : count - 1);
  if (chosen_ < first_) first_ = chosen_;
  if (rows != 0 && chosen_ >= first_ + rows) first_ = chosen_ - rows + 1;
  if (first_ + rows > count) first_ = count > rows ? count - rows : 0;
  body_rows_ = rows;
}

std::vector<std::string> TopScreen::findings_view(std::size_t columns, std::size_t rows) {
  const auto shown = shown_findings();
  const auto& list = run_.findings().list;
  if (shown.empty()) {
    if (!filter_.empty()) return {"", "  No finding has '" + printable(filter_) + "'."};
    if (run_.findings().verdict.empty()) return {};
    std::vector<std::string> lines = {""};
    for (const std::string& sentence : run_.findings().verdict) {
      for (std::string& line : wrapped(printable(sentence), columns - 4, 3)) lines.push_back("  " + std::move(line));
    }
    return lines;
  }
  constexpr std::size_t kDetail = 5;  // lines for the chosen finding
  const bool has_room = rows >= kDetail + 4;
  const std::size_t list_rows = rows - 1 - (has_room ? kDetail : 0);
  scroll_to_chosen(shown.size(), list_rows);
  std::vector<std::string> lines = {
      painted(kSoft, left("rule", 10) + right("iteration", 10) + right("rank", 6) + "  what was found")};
  for (std::size_t i = first_; i < std::min(shown.size(), first_ + list_rows); ++i) {
    const Finding& finding = list[shown[i]];
    const std::string rule = left(facts(finding.rule).name, 10);
    const std::string rest = right(std::to_string(finding.first_iteration), 10) +
                             right(std::to_string(finding.rank), 6) + "  " +
                             left(cut_short(printable(finding.text), columns - 28), columns - 28);
    lines.push_back(i == chosen_ ? painted(kChosen, rule + rest)
                                 : painted(style_of(facts(finding.rule).severity), rule) + rest);
  }
  if (!has_room) return lines;
  lines.resize(rows - kDetail);
  const Finding& finding = list[shown[chosen_]];
  lines.push_back(painted(kSoft, std::string(columns, '-')));
  for (std::string& line : wrapped(printable(finding.text), columns, 2)) lines.push_back(std::move(line));
  if (finding.last_clean_iteration) {
    lines.push_back("last clean iteration: " + std::to_string(*finding.last_clean_iteration));
  }
  lines.push_back(elided("next: " + printable(finding.next), columns));
  return lines;
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

std::vector<std::string> TopScreen::ranks_view(std::size_t columns, std::size_t rows) {
  const auto& ranks = run_.ranks();
  std::uint64_t newest = 0;
  for (const auto& [rank, news] : ranks) newest = std::max(newest, news.last_iteration);
  std::vector<std::string> lines = {
      painted(kSoft, elided(right("rank", 6) + right("iteration", 11) + right("behind", 8) + right("rows", 13) +
                                right("rows/s", 9) + right("last row", 11),
                            columns))};
  scroll_to_chosen(ranks.size(), rows - 1);
  std::size_t at = 0;
  for (const auto& [rank, news] : ranks) {
    const std::size_t number = at++;
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

std::vector<std::string> TopScreen::tensor_view(std::size_t columns, std::size_t rows) const {
  const History& history = run_.history();
  const HistorySeries* series = history.series(tensor_, rank_);
  if (series == nullptr || series->cells.empty()) return {"", "  The tensor has no rows any more."};
  const HistoryKind& kind = history.kinds()[series->cells.back().kind];
  const std::size_t table_rows = rows >= 16 ? 6 : 3, picture_rows = std::max<std::size_t>(3, rows - table_rows - 4);
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

std::vector<std::string> TopScreen::help_view(std::size_t columns) const {
  constexpr std::pair<std::string_view, std::string_view> kKeys[] = {
      {"1 2 3, Tab", "findings, tensors, ranks"},
      {"j k, arrows", "the next line, the one before; g G: the first, the last"},
      {"Enter", "the tensor of a line; Esc goes back"},
      {"[ ]", "of a tensor: another rank"},
      {"/", "find: only lines with a text; Esc shows all again"},
      {"s", "tensors in order, by change, by size, by name"},
      {"space", "pause"},
      {"q", "leave"},
  };
  std::vector<std::string> lines = {""};
  for (const auto& [key, what] : kKeys) lines.push_back(cut_short("  " + left(key, 14) + std::string(what), columns));
  lines.push_back("");
  lines.push_back(cut_short("  size is l2norm, or the greatest magnitude where there is no l2norm.", columns));
  lines.push_back(cut_short("  x median is the last size over the median of the 50 before it.", columns));
  return lines;
}

std::string TopScreen::foot(std::size_t columns) const {
  if (is_typing_) return elided("/" + printable(filter_) + "_", columns);
  if (!message_.empty()) return painted(kWarning, elided(printable(message_), columns));
  std::string text = view_ == View::kTensor ? "Esc back  [ ] rank  q quit  ? keys"
                                            : "j k move  Enter tensor  / find  s sort  space pause  q quit  ? keys";
  if (!filter_.empty()) text = "find: " + printable(filter_) + " (Esc ends)  " + text;
  return painted(kSoft, elided(text, columns));
}

std::vector<std::string> TopScreen::frame(Screen screen) {
  const std::size_t columns = std::max<std::size_t>(screen.columns, 20), rows = std::max<std::size_t>(screen.rows, 8);
  std::vector<std::string> lines = head(columns);
  const std::size_t body = rows - lines.size() - 1;
  std::vector<std::string> middle;
  switch (view_) {
    case View::kFindings:
      middle = findings_view(columns, body);
      break;
    case View::kTensors:
      middle = tensors_view(columns, body);
      break;
    case View::kRanks:
      middle = ranks_view(columns, body);
      break;
    case View::kTensor:
      middle = tensor_view(columns, body);
      break;
    case View::kHelp:
      middle = help_view(columns);
      break;
  }
  middle.resize(body);
  lines.insert(lines.end(), std::make_move_iterator(middle.begin()), std::make_move_iterator(middle.end()));
  lines.push_back(foot(columns));
  return lines;
}

}  // namespace tensorstat::cli
