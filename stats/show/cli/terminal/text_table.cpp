#include "stats/show/cli/terminal/text_table.hpp"

#include <algorithm>
#include <string_view>

#include "stats/show/cli/terminal/text_width.hpp"

namespace tensorstat::cli {
namespace {

constexpr std::string_view kRed = "\x1b[31m", kPlain = "\x1b[0m";

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t space; (space = text.find(' ')) != text.npos; text.remove_prefix(space + 1)) {
    words.push_back(text.substr(0, space));
  }
  words.push_back(text);
  return words;
}

class Writer {
 public:
  Writer(const TextTable& table, bool in_color) : columns_(table.columns), gap_(table.gap, ' '), in_color_(in_color) {
    for (const TextColumn& column : columns_) {
      widths_.push_back(column.width());
      height_ = std::max(height_, words_of(column.heading).size());
    }
  }

  std::size_t heading_height() const { return height_; }

  void heading() {
    for (std::size_t line = 0; line < height_; ++line) {
      write([&](std::size_t column) {
        const auto words = words_of(columns_[column].heading);
        const std::size_t above = height_ - words.size();
        return TextCell{line < above ? "" : std::string(words[line - above])};
      });
    }
  }

  void line(std::size_t row) {
    write([&](std::size_t column) -> const TextCell& { return columns_[column].cells[row]; });
  }

  std::string text;

 private:
  void write(auto cell_of) {
    std::string line;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const TextCell& cell = cell_of(i);
      const std::string padding(widths_[i] - cli::width(cell.text), ' ');
      const bool is_red = cell.is_alarming && in_color_;
      if (i > 0) line += gap_;
      if (!columns_[i].is_name) line += padding;
      if (is_red) line += kRed;
      line += cell.text;
      if (is_red) line += kPlain;
      if (columns_[i].is_name) line += padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text.append(line).append("\n");
  }

  const std::vector<TextColumn>& columns_;
  const std::string gap_;
  const bool in_color_;
  std::vector<std::size_t> widths_;
  std::size_t height_ = 0;
};

}  // namespace

std::size_t TextColumn::width() const {
  std::size_t most = 0;
  for (const std::string_view word : words_of(heading)) most = std::max(most, cli::width(word));
  for (const TextCell& cell : cells) most = std::max(most, cli::width(cell.text));
  return most;
}

std::size_t TextTable::width() const {
  std::size_t all = gap * (columns.size() - 1);
  for (const TextColumn& column : columns) all += column.width();
  return all;
}

std::string TextTable::text(bool in_color, std::size_t screen_rows) const {
  Writer writer(*this, in_color);
  const std::size_t height = writer.heading_height(), rows = columns.front().cells.size();
  // Leaves one line of the screen for the prompt.
  const std::size_t most = screen_rows > height + 1 ? screen_rows - height - 1 : rows;
  for (std::size_t row = 0; row < rows; ++row) {
    if (row % most == 0) writer.heading();
    writer.line(row);
  }
  return std::move(writer.text);
}

}  // namespace tensorstat::cli
