#include "stats/cli/report/report.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

#include "stats/base/printable.hpp"
#include "stats/cli/report/sparkline.hpp"
#include "stats/rows/coordinates.hpp"
#include "stats/rows/csv/statistic_csv.hpp"

namespace tensorstat::cli {
namespace {

class Csv : public Report {
 public:
  explicit Csv(CsvText text) : text_(std::move(text)) {}
  std::string begin() override { return text_.heading(); }
  std::string add(const SurveyedTensor& entry) override {
    std::string line;
    text_.append(entry.row, line);
    return line;
  }

 private:
  const CsvText text_;
};

}  // namespace

std::unique_ptr<Report> make_report(const Arguments& arguments, const Look& look) {
  const Categories& categories = arguments.request.categories;
  switch (arguments.format) {
    case Format::kCsv:  // already checked with the arguments
      return std::make_unique<Csv>(*CsvText::make({Dialect::kOurs, categories, arguments.columns}));
    case Format::kJson:
      return make_json(arguments.explain);
    case Format::kNdjson:
      return make_ndjson(arguments.explain);
    case Format::kMarkdown:
      return make_markdown(categories);
    case Format::kTable:
      break;
  }
  return make_table(categories, arguments.explain, look);
}

std::string short_text(const Value& value, int digits) {
  if (const auto* exponents = std::get_if<Exponents>(&value)) return sparkline(**exponents);
  const auto* real = std::get_if<double>(&value);
  if (real == nullptr || !std::isfinite(*real)) return to_string(value);
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, *real, std::chars_format::general, digits).ptr};
}

std::string short_text(Category category, const Value& value, const Shape& shape, int digits) {
  std::string text = short_text(value, digits);
  if (kind(category) != ValueKind::kIndex || shape.size() < 2) return text;
  const auto at = coordinates(value, shape);
  return at ? text + " " + to_string(*at) : text;
}

std::string short_label(const SurveyedTensor& entry) {
  const Identity& who = entry.row.identity;
  const std::size_t name_at = entry.path.rfind('/') + 1;
  if (entry.tensor || entry.index || !entry.path.substr(name_at).starts_with(who.op_type + "." + who.op_name + ".")) {
    return entry.label();
  }
  return entry.path.substr(0, name_at) + who.op_name + "." + who.io + "." + std::to_string(who.slot);
}

void Explanation::add(const SurveyedTensor& entry) {
  std::vector<std::pair<std::string, std::string>> reasons;  // engine and reason; names of statistics
  for (const Decision& decision : entry.placement) {
    const std::string where = std::string(decision.engine) + ": " + std::string(decision.reason);
    auto reason = std::ranges::find(reasons, where, [](const auto& known) { return known.first; });
    if (reason == reasons.end()) reason = reasons.insert(reason, {where, ""});
    reason->second.append(reason->second.empty() ? "" : ", ").append(name(decision.category));
  }
  std::vector<std::string> lines;
  for (const auto& [where, which] : reasons) lines.push_back("  " + which + ": " + where);
  auto group = std::ranges::find(groups_, lines, &Group::reasons);
  if (group == groups_.end()) group = groups_.insert(group, {std::move(lines), entry.label()});
  group->count += 1;
  group->most_device_bytes = std::max(group->most_device_bytes, entry.device_bytes);
}

std::vector<std::string> Explanation::lines() const {
  std::vector<std::string> lines;
  for (const Group& group : groups_) {
    const bool is_one = group.count == 1;
    lines.push_back((is_one ? "" : std::to_string(group.count) + " tensors, the first: ") +
                    printable_name(group.first));
    lines.insert(lines.end(), group.reasons.begin(), group.reasons.end());
    lines.push_back(std::string("  device memory taken: ") + (is_one ? "" : "at most ") +
                    std::to_string(group.most_device_bytes) + " bytes");
  }
  return lines;
}

}  // namespace tensorstat::cli
