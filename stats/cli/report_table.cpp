#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "stats/cli/report.hpp"
#include "stats/files/shown.hpp"

namespace tensorstat::cli {
namespace {

constexpr std::string_view kRed = "\x1b[31m", kPlain = "\x1b[0m", kGap = "  ";

struct Cell {
  std::string text;
  bool is_alarming = false;  // NaN or Inf, or a count of them that is not 0
};

// A table is for the eye: six significant digits. The other formats have them all.
Cell cell_of(Category category, const Value& value) {
  if (const auto* real = std::get_if<double>(&value); real && std::isfinite(*real)) {
    char digits[32];
    const auto end =
        std::to_chars(digits, digits + sizeof digits, *real, std::chars_format::general, 6).ptr;
    return {{digits, end}};
  }
  const auto* count = std::get_if<std::uint64_t>(&value);
  const bool counts_specials = category == Category::kNanCount ||
                               category == Category::kNegativeInfCount ||
                               category == Category::kPositiveInfCount;
  return {to_string(value),
          std::holds_alternative<double>(value) || (counts_specials && count && *count > 0)};
}

// A dump file's long name shrinks to what its columns do not say: operator, input or output, slot.
std::string short_label(const Entry& entry) {
  const Identity& who = entry.row.identity;
  const std::size_t name_at = entry.path.rfind('/') + 1;
  if (entry.tensor || !entry.path.substr(name_at).starts_with(who.op_type + "." + who.op_name + ".")) {
    return entry.label();
  }
  return entry.path.substr(0, name_at) + who.op_name + "." + who.io + "." +
         std::to_string(who.slot);
}

// Columns of a terminal: a continuation byte of UTF-8 takes none.
std::size_t width(std::string_view text) {
  return std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; });
}

class Table : public Report {
 public:
  Table(const Categories& categories, bool with_placement, bool in_color)
      : with_placement_(with_placement), in_color_(in_color) {
    // A heading is broken at its spaces, so that "negative inf count" is as wide as its digits.
    std::vector<std::vector<std::string_view>> headings = {{"tensor"}, {"dtype"}, {"shape"}};
    for (const Category category : categories) headings.push_back(words_of(name(category)));
    const std::size_t height =
        std::ranges::max(headings, {}, [](const auto& words) { return words.size(); }).size();
    heading_height_ = height;
    lines_.resize(height, std::vector<Cell>(headings.size()));
    for (std::size_t column = 0; column < headings.size(); ++column) {
      const auto& words = headings[column];
      for (std::size_t i = 0; i < words.size(); ++i) {
        lines_[height - words.size() + i][column].text = words[i];
      }
    }
  }

  std::string add(const Entry& entry) override {
    const Statistics& statistics = entry.row.statistics;
    std::vector<Cell> line = {
        {printable(short_label(entry))}, {entry.row.data_type}, {to_string(entry.row.shape)}};
    for (std::size_t i = 0; i < statistics.categories.size(); ++i) {
      line.push_back(cell_of(statistics.categories[i], statistics.values[i]));
    }
    lines_.push_back(std::move(line));
    if (with_placement_) {
      explanations_ += "\n";
      for (const std::string& each : explanation(entry)) explanations_.append(each).append("\n");
    }
    return {};
  }

  std::string end() override {
    if (lines_.size() == heading_height_) return {};  // a heading over nothing tells nothing
    std::vector<std::size_t> widths(lines_.front().size(), 0);
    for (const auto& line : lines_) {
      for (std::size_t i = 0; i < line.size(); ++i) {
        widths[i] = std::max(widths[i], width(line[i].text));
      }
    }
    std::string text;
    for (const auto& line : lines_) {
      std::string printed;
      for (std::size_t i = 0; i < line.size(); ++i) {
        const Cell& cell = line[i];
        const std::string padding(widths[i] - width(cell.text), ' ');
        const bool is_name = i < 3;  // to the left; numbers go to the right
        if (i > 0) printed += kGap;
        if (!is_name) printed += padding;
        const bool is_red = cell.is_alarming && in_color_;
        if (is_red) printed += kRed;
        printed += cell.text;
        if (is_red) printed += kPlain;
        if (is_name) printed += padding;
      }
      printed.erase(printed.find_last_not_of(' ') + 1);
      text.append(printed).append("\n");
    }
    return text + explanations_;
  }

 private:
  static std::vector<std::string_view> words_of(std::string_view text) {
    std::vector<std::string_view> words;
    for (std::size_t space; (space = text.find(' ')) != text.npos; text.remove_prefix(space + 1)) {
      words.push_back(text.substr(0, space));
    }
    words.push_back(text);
    return words;
  }

  const bool with_placement_, in_color_;
  std::vector<std::vector<Cell>> lines_;  // the heading's first
  std::size_t heading_height_ = 0;
  std::string explanations_;
};

}  // namespace

std::unique_ptr<Report> make_table(const Categories& categories, bool with_placement,
                                   bool in_color) {
  return std::make_unique<Table>(categories, with_placement, in_color);
}

}  // namespace tensorstat::cli
