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
  explicit Csv(Categories categories) : categories_(std::move(categories)) {}
  std::string begin() override { return csv_header(categories_, Dialect::kOurs); }
  std::string add(const Entry& entry) override { return csv_row(entry.row, Dialect::kOurs); }

 private:
  Categories categories_;
};

}  // namespace

std::unique_ptr<Report> make_report(Format format, const Categories& categories,
                                    bool with_placement, bool in_color) {
  switch (format) {
    case Format::kCsv:
      return std::make_unique<Csv>(categories);
    case Format::kJson:
      return make_json(with_placement);
    case Format::kNdjson:
      return make_ndjson(with_placement);
    case Format::kTable:
      break;
  }
  return make_table(categories, with_placement, in_color);
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
