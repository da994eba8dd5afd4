// Columns of text side by side.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tensorstat::cli {

struct TextCell {
  std::string text;          // printable
  bool is_alarming = false;  // shown in red
};

struct TextColumn {
  std::string heading;   // broken at spaces, so that "negative inf count" takes few columns
  bool is_name = false;  // aligned left; numbers are aligned right
  std::vector<TextCell> cells;
  bool may_go = true;  // may be left out without room

  std::size_t width() const;
};

struct TextTable {
  std::vector<TextColumn> columns;  // all with the same number of cells
  std::size_t gap = 2;              // spaces between columns

  std::size_t width() const;

  // The table's lines. With `screen_rows`, the heading is repeated at the top of every screen.
  std::string text(bool in_color, std::size_t screen_rows = 0) const;
};

}  // namespace tensorstat::cli
