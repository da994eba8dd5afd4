#include "stats/show/cli/report/report.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

#include "stats/core/base/printable.hpp"
#include "stats/data/rows/coordinates.hpp"
#include "stats/data/rows/csv/statistic_csv.hpp"
#include "stats/show/cli/terminal/sparkline.hpp"

namespace tensorstat::cli {
namespace {

class LineReport : public Report {
 public:
  LineReport(Survey::Line line, LineFrame frame) : line_(std::move(line)), frame_(std::move(frame)) {}
  std::string begin() override { return frame_.begin; }
  std::string add(const SurveyedTensor& entry) override {
    const std::string& before = std::exchange(is_first_, false) ? frame_.before_first : frame_.before_next;
    return entry.line.empty() ? before + line_(entry) : before + entry.line;
  }
  std::string end() override { return frame_.end; }
  Survey::Line line() const override { return line_; }

 private:
  const Survey::Line line_;
  const LineFrame frame_;
  bool is_first_ = true;
};

std::unique_ptr<Report> make_csv(CsvText text) {
  std::string heading = text.heading();
  const auto line = [text = std::move(text)](const SurveyedTensor& entry) {
    std::string line;
    text.append(entry.row, line);
    return line;
  };
  return make_lines(line, {.begin = std::move(heading)});
}

TableColumns columns_of(const Arguments& arguments) {
  const auto fact = [](std::string_view name) { return *subject_from(name); };
  TableColumns columns{{fact("dtype"), fact("shape")}};
  for (const Category category : arguments.request.categories) columns.shown.emplace_back(category);
  if (arguments.request.categories.empty()) columns.shown.push_back(fact("bytes"));  // --head
  columns.are_default = arguments.stats_are_default;
  if (arguments.where) columns.named = arguments.where->subjects();
  if (arguments.sort) columns.named.push_back(arguments.sort->subject);
  for (const Subject& named : columns.named) {
    const Categories needed = needed_by(named);
    const bool is_counted = is_word(named) && std::ranges::all_of(needed, [&](Category category) {
                              return std::ranges::count(arguments.request.categories, category) != 0;
                            });
    constexpr std::string_view kInEachTable[] = {"name", "path", "tensor", "rank", "step", "iteration"};
    const bool is_there = std::ranges::count(columns.shown, named) != 0 || is_counted ||
                          std::ranges::count(kInEachTable, name_of(named)) != 0;
    if (!is_there) columns.shown.push_back(named);
  }
  return columns;
}

}  // namespace

std::unique_ptr<Report> make_report(const Arguments& arguments, const Look& look) {
  const Categories& categories = arguments.request.categories;
  switch (arguments.format) {
    case Format::kCsv:  // already checked with the arguments
      return make_csv(*CsvText::make({Dialect::kOurs, categories, arguments.columns}));
    case Format::kJson:
      return make_json(arguments.explain);
    case Format::kNdjson:
      return make_ndjson(arguments.explain);
    case Format::kMarkdown:
      return make_markdown(columns_of(arguments));
    case Format::kTable:
      break;
  }
  return make_table(columns_of(arguments), arguments.explain, look);
}

std::unique_ptr<Report> make_lines(Survey::Line line, LineFrame frame) {
  return std::make_unique<LineReport>(std::move(line), std::move(frame));
}

std::string short_text(const Value& value, int digits) {
  if (const auto* exponents = std::get_if<Exponents>(&value)) return sparkline(**exponents);
  const auto* real = std::get_if<double>(&value);
  if (real == nullptr || !std::isfinite(*real) || digits >= kAllDigits) return to_string(value);
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, *real, std::chars_format::general, digits).ptr};
}

std::string short_text(Category category, const Value& value, const Shape& shape, int digits) {
  std::string text = short_text(value, digits);
  if (kind(category) != ValueKind::kIndex || shape.size() < 2) return text;
  const auto element = coordinates(value, shape);
  return element ? text + " " + to_string(*element) : text;
}

std::string short_text(const Subject& subject, const FactValue& value, const Shape& shape, int digits) {
  if (const auto* text = std::get_if<std::string>(&value)) return printable_name(*text);
  const auto* category = std::get_if<Category>(&subject);
  const auto* side = std::get_if<OfSide>(&subject);
  if (category == nullptr && side == nullptr) return short_text(std::get<Value>(value), digits);
  return short_text(category ? *category : side->category, std::get<Value>(value), shape, digits);
}

std::string short_label(const SurveyedTensor& entry) {
  const Identity& identity = entry.row.identity;
  const std::size_t name_at = entry.path.rfind('/') + 1;
  if (entry.tensor || entry.index ||
      !entry.path.substr(name_at).starts_with(identity.op_type + "." + identity.op_name + ".")) {
    return entry.label();
  }
  return entry.path.substr(0, name_at) + identity.op_name + "." + identity.io + "." + std::to_string(identity.slot);
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
