#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "stats/base/printable.hpp"
#include "stats/cli/report/report.hpp"
#include "stats/cli/report/text_table.hpp"
#include "stats/cli/report/text_width.hpp"

namespace tensorstat::cli {
namespace {

// Significant digits of a narrow table. The first one that leaves kNameColumns for the names is used.
constexpr int kNarrowDigits[] = {4, 3};
// Columns for a name: first other columns are dropped, then the name shrinks to kLeastNameColumns. The same for a
// shape.
constexpr std::size_t kNameColumns = 28, kLeastNameColumns = 16;

struct Line {
  std::string label, dtype, shape;
  Shape dimensions;
  std::uint64_t bytes;
  std::vector<Value> values;
};

struct Alarms {
  bool nan = false, inf = false;
  explicit operator bool() const { return nan || inf; }
};

bool counts_specials(Category category) {
  return category == Category::kNanCount || category == Category::kNegativeInfCount ||
         category == Category::kPositiveInfCount;
}

Alarms alarms_of(Category category, const Value& value) {
  if (const auto* real = std::get_if<double>(&value)) return {std::isnan(*real), std::isinf(*real)};
  const auto* count = std::get_if<std::uint64_t>(&value);
  const bool counts = counts_specials(category) && count != nullptr && *count > 0;
  return {counts && category == Category::kNanCount, counts && category != Category::kNanCount};
}

// An index of 0 is information like any other index.
bool is_zero(Category category, const Value& value) {
  if (kind(category) == ValueKind::kIndex) return false;
  return std::visit(
      []<typename T>(const T& number) {
        if constexpr (std::is_arithmetic_v<T>) return number == 0;
        return false;
      },
      value);
}

// "0 in each row above: nan count, zero count" in lines of at most `columns`.
std::string note(std::string_view what, const std::vector<std::string>& names, std::size_t columns) {
  if (names.empty()) return "";
  std::string text, line(what);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string next = " " + names[i] + (i + 1 < names.size() ? "," : "");
    if (line.size() + next.size() > columns) text += std::exchange(line, " ") + "\n";
    line += next;
  }
  return text + line + "\n";
}

class Table : public Report {
 public:
  Table(const Categories& categories, bool with_placement, const Look& look)
      : categories_(categories), with_placement_(with_placement), look_(look) {}

  std::string add(const SurveyedTensor& entry) override {
    const Row& row = entry.row;
    lines_.push_back({printable_name(short_label(entry)), printable_name(row.data_type), to_string(row.shape),
                      row.shape, row.data_size_bytes, row.statistics.values});
    if (with_placement_) explanation_.add(entry);
    return {};
  }

  std::string end() override {
    if (lines_.empty()) return {};  // no heading without rows
    std::string text = look_.screen ? on_screen(*look_.screen) : wide(categories_).text(look_.in_color);
    for (const std::string& line : explanation_.lines()) text += (line.starts_with(' ') ? "" : "\n") + line + "\n";
    return text;
  }

 private:
  // The widest version that fits: all digits, then fewer digits, then without the last columns.
  std::string on_screen(const Screen& screen) {
    Categories shown;
    std::vector<std::string> zeros, dropped;
    for (std::size_t i = 0; i < categories_.size(); ++i) {
      const bool is_all_zero =
          std::ranges::all_of(lines_, [&](const Line& line) { return is_zero(categories_[i], line.values[i]); });
      if (is_all_zero) zeros.emplace_back(name(categories_[i]));
      if (!is_all_zero) shown.push_back(categories_[i]);
    }
    std::string place;
    TextTable table = wide(shown);
    bool fits = table.fit(screen.columns, kNameColumns);
    if (!fits) place = take_common_place();
    for (const int digits : kNarrowDigits) {
      if (fits || categories_.empty()) break;
      table = narrow(shown, digits);
      fits = table.fit(screen.columns, kNameColumns);
    }
    while (!fits && !(fits = table.fit(screen.columns, kLeastNameColumns)) && table.columns.size() > 2) {
      dropped.insert(dropped.begin(), table.columns.back().heading);
      table.columns.pop_back();
    }
    if (!fits) table.fit(screen.columns, 1);
    const std::string in = place.empty() ? "" : elided("in " + place, screen.columns) + "\n";
    return in + table.text(look_.in_color, screen.rows) + note("0 in each row above:", zeros, screen.columns) +
           note("no room for:", dropped, screen.columns);
  }

  // Removes the folder or container that all labels begin with, and returns it.
  std::string take_common_place() {
    std::string_view common = lines_.front().label;
    for (const Line& line : lines_) {
      common = common.substr(0, std::ranges::mismatch(common, line.label).in1 - common.begin());
    }
    const std::size_t folder = common.rfind('/') + 1, container = common.rfind("::");  // npos + 1 is 0
    const std::size_t end = container == common.npos ? folder : std::max(folder, container + 2);
    const std::string place(common.substr(0, end));
    for (Line& line : lines_) line.label.erase(0, end);
    return place;
  }

  std::size_t index_of(Category category) const {
    return std::ranges::find(categories_, category) - categories_.begin();
  }

  TextColumn words_column(std::string heading, std::string Line::*text, std::size_t most_columns) const {
    TextColumn column{std::move(heading), true, {}};
    for (const Line& line : lines_) column.cells.push_back({elided(line.*text, most_columns)});
    return column;
  }

  TextColumn number_column(Category category, int digits) const {
    TextColumn column{std::string(name(category)), false, {}};
    const std::size_t at = index_of(category);
    for (const Line& line : lines_) {
      const Value& value = line.values[at];
      const bool alarms = static_cast<bool>(alarms_of(category, value));
      column.cells.push_back({short_text(category, value, line.dimensions, digits), alarms});
    }
    return column;
  }

  TextTable wide(const Categories& shown) const {
    std::vector<TextColumn> columns = {words_column("tensor", &Line::label, std::string::npos),
                                       words_column("dtype", &Line::dtype, std::string::npos),
                                       words_column("shape", &Line::shape, std::string::npos)};
    for (const Category category : shown) columns.push_back(number_column(category, kTableDigits));
    if (categories_.empty()) {  // --head
      columns.push_back({"bytes", false, {}});
      for (const Line& line : lines_) columns.back().cells.push_back({std::to_string(line.bytes)});
    }
    return {std::move(columns)};
  }

  // max and min become an interval, the binades become bars, and several counts become one word of warning.
  TextTable narrow(const Categories& shown, int digits) const {
    const auto has = [&](Category category) { return std::ranges::count(shown, category) != 0; };
    const bool has_interval = has(Category::kMax) && has(Category::kMin);
    std::vector<TextColumn> columns = {words_column("tensor", &Line::label, std::string::npos), warnings(),
                                       words_column("dtype", &Line::dtype, std::string::npos),
                                       words_column("shape", &Line::shape, kLeastNameColumns)};
    if (columns[1].width() == 0) columns.erase(columns.begin() + 1);
    if (has_interval) columns.push_back(intervals(digits));
    if (has(Category::kExponents)) columns.push_back(number_column(Category::kExponents, digits));
    for (const Category category : shown) {
      const bool is_said = (has_interval && (category == Category::kMax || category == Category::kMin)) ||
                           category == Category::kExponents || counts_specials(category);
      if (!is_said) columns.push_back(number_column(category, digits));
    }
    return {std::move(columns), 1};
  }

  TextColumn warnings() const {
    TextColumn column{"", true, {}};
    for (const Line& line : lines_) {
      Alarms alarms;
      for (std::size_t i = 0; i < categories_.size(); ++i) {
        const Alarms here = alarms_of(categories_[i], line.values[i]);
        alarms = {alarms.nan || here.nan, alarms.inf || here.inf};
      }
      const std::string both = alarms.nan && alarms.inf ? " " : "";
      column.cells.push_back({(alarms.nan ? "NaN!" : "") + both + (alarms.inf ? "Inf!" : ""), bool(alarms)});
    }
    return column;
  }

  TextColumn intervals(int digits) const {
    TextColumn column{"[min,max]", false, {}};
    const std::size_t max_at = index_of(Category::kMax), min_at = index_of(Category::kMin);
    for (const Line& line : lines_) {
      const Value &max = line.values[max_at], &min = line.values[min_at];
      const bool exists = !std::holds_alternative<std::monostate>(max);
      column.cells.push_back({exists ? "[" + short_text(min, digits) + ", " + short_text(max, digits) + "]" : "",
                              alarms_of(Category::kMax, max) || alarms_of(Category::kMin, min)});
    }
    return column;
  }

  const Categories categories_;
  const bool with_placement_;
  const Look look_;
  std::vector<Line> lines_;
  Explanation explanation_;
};

}  // namespace

std::unique_ptr<Report> make_table(const Categories& categories, bool with_placement, const Look& look) {
  return std::make_unique<Table>(categories, with_placement, look);
}

}  // namespace tensorstat::cli
