// The terminal that results are shown on: how large it is, and whether they are coloured.
#pragma once

#include <cstddef>
#include <optional>

namespace tensorstat::cli {

struct Screen {
  std::size_t columns = 80, rows = 24;
};

// Nothing where the descriptor is no terminal. A terminal that does not know its size has that of COLUMNS and LINES, or
// 80 x 24.
std::optional<Screen> screen_of(int descriptor);

// Whether the terminal understands that a line is written again or coloured; TERM=dumb says that it does not.
bool is_dumb_terminal();

enum class Color { kAuto, kAlways, kNever };

// kAuto: a non-empty NO_COLOR says no; a CLICOLOR_FORCE that is neither empty nor 0 says yes, of stdout even where it
// is no terminal; else a terminal that is not dumb is coloured.
bool wants_color(Color color, bool is_stdout, bool is_screen);

}  // namespace tensorstat::cli
