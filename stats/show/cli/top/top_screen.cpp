#include "stats/show/cli/top/top_screen.hpp"

#include <algorithm>
#include <utility>

#include "stats/answer/findings/finding_rules.hpp"
#include "stats/core/base/printable.hpp"
#include "stats/show/cli/terminal/text_width.hpp"
#include "stats/show/cli/top/screen_text.hpp"

namespace tensorstat::cli::top {

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

std::vector<std::string> TopScreen::head(std::size_t columns) const {
  const tensorstat::Findings& findings = run_.findings();
  std::uint64_t iteration = 0;
  for (const auto& [rank, news] : run_.ranks()) iteration = std::max(iteration, news.last_iteration);
  const std::string position = run_.ranks().empty() ? "" : "iteration " + std::to_string(iteration);
  const std::size_t room = columns - std::min(columns, position.size() + 2);
  std::vector<std::string> lines = {painted(kBold, left("tensorstat top  " + printable(source_), room)) + "  " +
                                    position};

  std::string verdict;
  std::string_view style = kSoft;
  if (run_.is_waiting()) {
    verdict = "Waiting: there is no such file or folder yet";
  } else if (run_.history().row_count() == 0) {
    verdict = "Waiting for the first row";
  } else if (!findings.verdict.empty()) {
    const bool is_good = findings.is_clean() && !run_.is_blind();
    verdict = is_good ? "✓ Nothing found" : findings.verdict.front();
    style = is_good ? kGood : findings.is_clean() ? kWarning : style_of(facts(findings.list.front().rule).severity);
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

}  // namespace tensorstat::cli::top
