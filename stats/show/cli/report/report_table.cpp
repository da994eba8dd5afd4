#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "stats/core/base/printable.hpp"
#include "stats/data/rules/specials.hpp"
#include "stats/show/cli/report/name_cut.hpp"
#include "stats/show/cli/report/report.hpp"
#include "stats/show/cli/terminal/text_table.hpp"
#include "stats/show/cli/terminal/text_width.hpp"

namespace tensorstat::cli {
namespace {

// Significant digits of a narrow table. The first one that leaves kNameColumns for the names is used.
constexpr int kNarrowDigits[] = {4, 3};
// Columns for a name. First other columns are dropped, then the name shrinks to kLeastNameColumns.
constexpr std::size_t kNameColumns = 28, kLeastNameColumns = 16;

struct Line {
  std::string place, name;  // "run/model.npz::" and "layer.weight"; not escaped
  std::string rank, step;   // empty if the row does not have them
  std::vector<FactValue> cells;
  Shape shape;
  bool has_nan = false, has_inf = false;
};

// Whether a cell is shown in red: it is NaN or Inf itself, or it counts these.
bool is_alarming(const Subject& subject, const FactValue& value) {
  const auto* number = std::get_if<Value>(&value);
  if (const auto* real = number ? std::get_if<double>(number) : nullptr) return !std::isfinite(*real);
  const auto* category = std::get_if<Category>(&subject);
  const bool counts = category != nullptr ? counts_specials(*category) : is_word(subject);
  const auto* count = number ? std::get_if<std::uint64_t>(number) : nullptr;
  return counts && (count ? *count > 0 : number == nullptr);
}

bool is_zero(const FactValue& value) {
  const auto* number = std::get_if<Value>(&value);
  if (number == nullptr) return false;
  return std::visit(
      []<typename T>(const T& scalar) {
        if constexpr (std::is_arithmetic_v<T>) return scalar == 0;
        return false;
      },
      *number);
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
  Table(TableColumns columns, bool with_placement, const Look& look)
      : columns_(std::move(columns)), with_placement_(with_placement), look_(look) {}

  std::string add(const SurveyedTensor& entry) override {
    static const Subject rank = *subject_from("rank"), step = *subject_from("step");
    const std::string label = short_label(entry);
    const std::size_t folder = entry.path.rfind('/') + 1;  // npos + 1 is 0
    const std::string place = entry.tensor ? entry.path + "::" : entry.path.substr(0, folder);
    const std::size_t cut = label.starts_with(place) ? place.size() : 0;
    Line line{label.substr(0, cut), label.substr(cut), text_of(entry, rank), text_of(entry, step), {}, entry.row.shape};
    for (const Subject& subject : columns_.shown) line.cells.push_back(value_of(entry, subject));
    const Specials specials = specials_of(entry.row.statistics);
    line.has_nan = specials.has_nan();
    line.has_inf = specials.has_inf();
    lines_.push_back(std::move(line));
    if (with_placement_) explanation_.add(entry);
    return {};
  }

  std::string end() override {
    if (lines_.empty()) return {};  // no heading without rows
    std::string text = look_.screen ? on_screen(*look_.screen) : in_a_pipe();
    for (const std::string& line : explanation_.lines()) text += (line.starts_with(' ') ? "" : "\n") + line + "\n";
    return text;
  }

 private:
  using Places = std::vector<std::size_t>;  // among columns_.shown

  bool is_named(std::size_t column) const { return std::ranges::count(columns_.named, columns_.shown[column]) != 0; }

  // Leaves out columns of only zeros. A terminal has no room for any of a statistic; a pipe has, but for counts.
  Places without_zeros(std::vector<std::string>& zeros) const {
    Places shown;
    for (std::size_t i = 0; i < columns_.shown.size(); ++i) {
      const Subject& subject = columns_.shown[i];
      const auto* category = std::get_if<Category>(&subject);
      const bool is_index = category && kind(*category) == ValueKind::kIndex;  // 0 is information like any other index
      const bool may_go =
          look_.screen ? (category && !is_index) || is_count(subject) : columns_.are_default && is_count(subject);
      const bool goes = may_go && !is_named(i) &&
                        std::ranges::all_of(lines_, [&](const Line& line) { return is_zero(line.cells[i]); });
      if (goes) zeros.push_back(name_of(subject));
      if (!goes) shown.push_back(i);
    }
    return shown;
  }

  std::string in_a_pipe() {
    std::vector<std::string> zeros;
    const Places shown = without_zeros(zeros);
    const std::string in = take_common_place();
    return in + wide(shown).text(look_.in_color) + note("0 in each row above:", zeros, std::string::npos);
  }

  // The widest version that fits: all digits, then fewer digits, then without the last columns.
  std::string on_screen(const Screen& screen) {
    std::vector<std::string> zeros, dropped;
    const Places shown = without_zeros(zeros);
    const std::string in = take_common_place();
    TextTable table = wide(shown);
    bool fits = fit(table, screen.columns, kNameColumns);
    for (const int digits : kNarrowDigits) {
      if (fits) break;
      table = narrow(shown, digits);
      fits = fit(table, screen.columns, kNameColumns);
    }
    while (!fits && !(fits = fit(table, screen.columns, kLeastNameColumns))) {
      const auto last = std::find_if(table.columns.rbegin(), table.columns.rend() - 1,
                                     [](const TextColumn& column) { return column.may_go; });
      if (last == table.columns.rend() - 1) break;
      if (!last->heading.empty()) dropped.insert(dropped.begin(), last->heading);
      table.columns.erase(last.base() - 1);
    }
    if (!fits) fit(table, screen.columns, 1, CutNames::kInWords);
    return in + table.text(look_.in_color, screen.rows) + note("0 in each row above:", zeros, screen.columns) +
           note("no room for:", dropped, screen.columns);
  }

  // Cuts the names until the table fits, but not below `least`. Returns whether it fits.
  static bool fit(TextTable& table, std::size_t most_width, std::size_t least, CutNames how = CutNames::kWholeWords) {
    std::vector<TextCell>& cells = table.columns.front().cells;
    const std::size_t all = table.width(), first = table.columns.front().width(), others = all - first;
    if (all <= most_width) return true;
    if (others + std::min(least, first) > most_width) return false;
    std::vector<std::string> names;
    for (const TextCell& cell : cells) names.push_back(cell.text);
    auto cut = cut_names(names, most_width - others, how);
    if (!cut && least == kLeastNameColumns && most_width - others >= kNameColumns) {
      cut = cut_names(names, most_width - others, CutNames::kInWords);
    }
    if (!cut) return false;
    for (std::size_t i = 0; i < names.size(); ++i) cells[i].text = std::move((*cut)[i]);
    return true;
  }

  // The line "in FILE::" with the place that several names share, which are shown without it. If rank and step tell
  // the rows of different places apart, names are shown without any place.
  std::string take_common_place() {
    if (lines_.size() < 2) return {};
    std::string_view common = lines_.front().place;
    std::map<std::tuple<std::string_view, std::string_view, std::string_view>, std::string_view> place_of;
    bool are_apart = true;
    for (const Line& line : lines_) {
      common = common.substr(0, std::ranges::mismatch(common, line.place).in1 - common.begin());
      const bool has_step = !line.rank.empty() || !line.step.empty();
      const auto& known = place_of.try_emplace({line.name, line.rank, line.step}, line.place).first->second;
      are_apart = are_apart && has_step && known == line.place;
    }
    const std::size_t container = common.rfind("::");
    const bool is_container = container != common.npos && container + 2 == common.size();
    const std::string place(common.substr(0, is_container ? common.size() : common.rfind('/') + 1));  // npos + 1 is 0
    for (Line& line : lines_) line.place.erase(0, are_apart ? line.place.size() : place.size());
    return place.empty() || place == "./" ? "" : "in " + printable_name(place) + "\n";
  }

  TextColumn names() const {
    TextColumn column{"tensor", true, {}, false};
    for (const Line& line : lines_) column.cells.push_back({printable_name(line.place + line.name)});
    return column;
  }

  // The names, and ranks and steps if rows have them.
  std::vector<TextColumn> first_columns() const {
    std::vector<TextColumn> columns = {names()};
    for (const auto& [heading, text] : {std::pair("rank", &Line::rank), std::pair("step", &Line::step)}) {
      TextColumn column{heading, false, {}, false};
      for (const Line& line : lines_) column.cells.push_back({line.*text});
      const auto is_there = [](const TextCell& cell) { return !cell.text.empty(); };
      if (std::ranges::any_of(column.cells, is_there)) columns.push_back(std::move(column));
    }
    return columns;
  }

  TextColumn column_of(std::size_t index, int digits) const {
    const Subject& subject = columns_.shown[index];
    const bool is_fact = std::holds_alternative<const Fact*>(subject);
    TextColumn column{name_of(subject), is_fact && is_text(subject), {}, !is_named(index)};
    for (const Line& line : lines_) {
      const FactValue& value = line.cells[index];
      column.cells.push_back({short_text(subject, value, line.shape, digits), is_alarming(subject, value)});
    }
    return column;
  }

  TextTable wide(const Places& shown) const {
    std::vector<TextColumn> columns = first_columns();
    for (const std::size_t index : shown) columns.push_back(column_of(index, columns_.digits));
    return {std::move(columns)};
  }

  // max and min become an interval, the binades become bars, and several counts become one word of warning.
  TextTable narrow(const Places& shown, int digits) const {
    const auto place_of = [&](Category category) {
      const auto place = std::ranges::find_if(shown, [&](std::size_t index) {
        const auto* here = std::get_if<Category>(&columns_.shown[index]);
        return here != nullptr && *here == category;
      });
      return place == shown.end() ? std::optional<std::size_t>() : *place;
    };
    const auto max = place_of(Category::kMax), min = place_of(Category::kMin);
    std::vector<TextColumn> columns = first_columns();
    if (TextColumn warned = warnings(); warned.width() != 0) columns.insert(columns.begin() + 1, std::move(warned));
    const auto is_fact = [&](std::size_t index) { return std::holds_alternative<const Fact*>(columns_.shown[index]); };
    for (const std::size_t index : shown) {
      if (is_fact(index)) columns.push_back(column_of(index, digits));
    }
    if (max && min) columns.push_back(intervals(*max, *min, digits));
    const auto exponents = place_of(Category::kExponents);
    if (exponents) columns.push_back(column_of(*exponents, digits));
    for (const std::size_t index : shown) {
      if (is_fact(index) || index == exponents || (max && min && (index == max || index == min))) continue;
      const auto* category = std::get_if<Category>(&columns_.shown[index]);
      if (category == nullptr || !counts_specials(*category) || is_named(index))
        columns.push_back(column_of(index, digits));
    }
    return {std::move(columns), 1};
  }

  TextColumn warnings() const {
    TextColumn column{"", true, {}, false};
    for (const Line& line : lines_) {
      const std::string both = line.has_nan && line.has_inf ? " " : "";
      column.cells.push_back(
          {(line.has_nan ? "NaN!" : "") + both + (line.has_inf ? "Inf!" : ""), line.has_nan || line.has_inf});
    }
    return column;
  }

  TextColumn intervals(std::size_t max_at, std::size_t min_at, int digits) const {
    TextColumn column{"[min,max]", false, {}, !is_named(max_at) && !is_named(min_at)};
    for (const Line& line : lines_) {
      const Value &max = std::get<Value>(line.cells[max_at]), &min = std::get<Value>(line.cells[min_at]);
      const bool exists = !std::holds_alternative<std::monostate>(max);
      column.cells.push_back({exists ? "[" + short_text(min, digits) + ", " + short_text(max, digits) + "]" : "",
                              is_alarming(Category::kMax, max) || is_alarming(Category::kMin, min)});
    }
    return column;
  }

  const TableColumns columns_;
  const bool with_placement_;
  const Look look_;
  std::vector<Line> lines_;
  Explanation explanation_;
};

}  // namespace

std::unique_ptr<Report> make_table(TableColumns columns, bool with_placement, const Look& look) {
  return std::make_unique<Table>(std::move(columns), with_placement, look);
}

}  // namespace tensorstat::cli
