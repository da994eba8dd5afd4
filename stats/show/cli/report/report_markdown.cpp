#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

#include "stats/core/base/printable.hpp"
#include "stats/show/cli/report/report.hpp"

namespace tensorstat::cli {
namespace {

// Shows any text unchanged: as code between more backticks than the text has in a row. Only | is escaped, because it
// would end the cell even there.
std::string code(const std::string& text) {
  std::size_t longest = 0, run = 0;
  for (const char c : text) longest = std::max(longest, run = c == '`' ? run + 1 : 0);
  const std::string fence(longest + 1, '`'), gap = text.starts_with('`') || text.ends_with('`') ? " " : "";
  std::string span = fence + gap + text + gap + fence;
  for (std::size_t position = 0; (position = span.find('|', position)) != span.npos; position += 2)
    span.insert(position, "\\");
  return span;
}

// A program that is not ours may have written the rows, with any text as dtype.
std::string dtype(const std::string& text) {
  const auto is_plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return std::ranges::all_of(text, is_plain) ? text : code(text);
}

// A table in GitHub's Markdown, a line for each tensor.
class Markdown : public Report {
 public:
  explicit Markdown(TableColumns columns) : columns_(std::move(columns)) {}

  std::string add(const SurveyedTensor& entry) override {
    Line line{code(printable_name(short_label(entry))), short_text_of(entry, "rank"), short_text_of(entry, "step"), ""};
    for (const Subject& subject : columns_.shown) {
      const std::string text = short_text(subject, value_of(entry, subject), entry.row.shape, columns_.digits);
      line.cells.append(" ").append(is_text_of_others(subject) ? dtype(text) : text).append(" |");
    }
    lines_.push_back(std::move(line));
    return {};
  }

  std::string end() override {
    const bool has_rank = std::ranges::any_of(lines_, [](const Line& line) { return !line.rank.empty(); });
    const bool has_step = std::ranges::any_of(lines_, [](const Line& line) { return !line.step.empty(); });
    std::string text = "| tensor |", rule = "\n| --- |";
    for (const auto& [has, name] : {std::pair(has_rank, " rank |"), std::pair(has_step, " step |")}) {
      if (has) text += name, rule += " ---: |";
    }
    for (const Subject& subject : columns_.shown) {
      text.append(" ").append(name_of(subject)).append(" |");
      rule.append(is_text(subject) ? " --- |" : " ---: |");
    }
    text += rule + "\n";
    for (const Line& line : lines_) {
      text += "| " + line.label + " |";
      if (has_rank) text += " " + line.rank + " |";
      if (has_step) text += " " + line.step + " |";
      text += line.cells + "\n";
    }
    return text;
  }

 private:
  struct Line {
    std::string label, rank, step, cells;
  };

  static std::string short_text_of(const SurveyedTensor& entry, std::string_view fact) {
    return text_of(entry, *subject_from(fact));
  }
  static bool is_text_of_others(const Subject& subject) {
    const auto* fact = std::get_if<const Fact*>(&subject);
    return fact != nullptr && (*fact)->kind == Fact::Kind::kText && (*fact)->name != "shape" && (*fact)->name != "at";
  }

  const TableColumns columns_;
  std::vector<Line> lines_;
};

}  // namespace

std::unique_ptr<Report> make_markdown(const TableColumns& columns) { return std::make_unique<Markdown>(columns); }

}  // namespace tensorstat::cli
