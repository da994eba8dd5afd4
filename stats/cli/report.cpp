#include "stats/cli/report.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "stats/files/shown.hpp"
#include "stats/rows/statistic_csv.hpp"

namespace tensorstat::cli {
namespace {

class Csv : public Report {
 public:
  explicit Csv(CsvText text) : text_(std::move(text)) {}
  std::string begin() override { return text_.heading(); }
  std::string add(const Entry& entry) override {
    std::string line;
    text_.append(entry.row, line);
    return line;
  }

 private:
  const CsvText text_;
};

}  // namespace

std::unique_ptr<Report> make_report(const Arguments& arguments, bool in_color) {
  const Categories& categories = arguments.request.categories;
  switch (arguments.format) {
    case Format::kCsv:  // the columns were checked with the arguments
      return std::make_unique<Csv>(*CsvText::make({Dialect::kOurs, categories, arguments.columns}));
    case Format::kJson:
      return make_json(arguments.explain);
    case Format::kNdjson:
      return make_ndjson(arguments.explain);
    case Format::kTable:
      break;
  }
  return make_table(categories, arguments.explain, in_color);
}

std::vector<std::string> explanation(const Entry& entry) {
  std::vector<std::pair<std::string, std::string>> lines;  // where and why; which
  for (const Decision& decision : entry.placement) {
    const std::string where = std::string(decision.engine) + ": " + std::string(decision.reason);
    auto line = std::ranges::find(lines, where, [](const auto& known) { return known.first; });
    if (line == lines.end()) line = lines.insert(line, {where, ""});
    line->second.append(line->second.empty() ? "" : ", ").append(name(decision.category));
  }
  std::vector<std::string> text = {printable(entry.label())};
  for (const auto& [where, which] : lines) text.push_back("  " + which + ": " + where);
  text.push_back("  device memory taken: " + std::to_string(entry.device_bytes) + " bytes");
  return text;
}

}  // namespace tensorstat::cli
