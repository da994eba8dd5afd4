#include <algorithm>
#include <cctype>

#include "stats/base/printable.hpp"
#include "stats/cli/report/report.hpp"

namespace tensorstat::cli {
namespace {

// Shows any text unchanged: as code between more backticks than the text has in a row. Only | is escaped, because it
// would end the cell even there.
std::string code(const std::string& text) {
  std::size_t longest = 0, run = 0;
  for (const char c : text) longest = std::max(longest, run = c == '`' ? run + 1 : 0);
  const std::string fence(longest + 1, '`'), gap = text.starts_with('`') || text.ends_with('`') ? " " : "";
  std::string span = fence + gap + text + gap + fence;
  for (std::size_t at = 0; (at = span.find('|', at)) != span.npos; at += 2) span.insert(at, "\\");
  return span;
}

// A program that is not ours may have written the rows, with any text as dtype.
std::string dtype(const std::string& text) {
  const auto is_plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return std::ranges::all_of(text, is_plain) ? printable_name(text) : code(printable_name(text));
}

// A table in GitHub's Markdown, a line for each tensor as it is measured.
class Markdown : public Report {
 public:
  explicit Markdown(const Categories& categories) : categories_(categories) {}

  std::string begin() override {
    std::string names = "| tensor | dtype | shape |", rule = "| --- | --- | --- |";
    for (const Category category : categories_) {
      names.append(" ").append(name(category)).append(" |");
      rule.append(kind(category) == ValueKind::kDigest ? " --- |" : " ---: |");
    }
    return names + "\n" + rule + "\n";
  }

  std::string add(const SurveyedTensor& entry) override {
    const Row& row = entry.row;
    std::string line = "| " + code(printable_name(short_label(entry))) + " | " + dtype(row.data_type) + " | ";
    line.append(to_string(row.shape)).append(" |");
    for (std::size_t i = 0; i < row.statistics.values.size(); ++i) {
      line.append(" ")
          .append(short_text(row.statistics.categories[i], row.statistics.values[i], row.shape))
          .append(" |");
    }
    return line + "\n";
  }

 private:
  const Categories categories_;
};

}  // namespace

std::unique_ptr<Report> make_markdown(const Categories& categories) { return std::make_unique<Markdown>(categories); }

}  // namespace tensorstat::cli
