// Columns of text beside each other.
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
  std::string heading;   // broken at its spaces, so that "negative inf count" is as wide as its digits
  bool is_name = false;  // words begin at the left; numbers end at the right
  std::vector<TextCell> cells;

  std::size_t width() const;
};

struct TextTable {
  std::vector<TextColumn> columns;  // with equally many cells
  std::size_t gap = 2;              // blanks between two columns

  std::size_t width() const;

  // Makes the first column narrower, by elided(), as far as is needed for `most_width`, but no narrower than `least`.
  // Whether the table is no wider than `most_width` then.
  bool fit(std::size_t most_width, std::size_t least);

  // The lines. With `screen_rows`, the heading comes again at the top of every screen.
  std::string text(bool in_color, std::size_t screen_rows = 0) const;
};

}  // namespace tensorstat::cli
