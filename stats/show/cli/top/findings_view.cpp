#include <algorithm>

#include "stats/answer/findings/finding_rules.hpp"
#include "stats/core/base/printable.hpp"
#include "stats/show/cli/terminal/text_width.hpp"
#include "stats/show/cli/top/screen_text.hpp"
#include "stats/show/cli/top/top_screen.hpp"

namespace tensorstat::cli::top {

std::vector<std::size_t> TopScreen::shown_findings() const {
  std::vector<std::size_t> shown;
  const auto& list = run_.findings().list;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (fits(list[i].op_name + " " + list[i].text + " " + std::string(facts(list[i].rule).name), filter_))
      shown.push_back(i);
  }
  return shown;
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
  constexpr std::size_t kDetail = 5;    // lines for the chosen finding
  constexpr std::size_t kColumns = 28;  // before the text
  const std::size_t room = columns - std::min(columns, kColumns);
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
                             left(cut_short(printable(finding.text), room), room);
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

}  // namespace tensorstat::cli::top
