// The size of the terminal, and whether it shows colors.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace tensorstat::cli {

struct Screen {
  std::size_t columns = 80, rows = 24;
};

// nullopt if the descriptor is not a terminal. If the terminal does not know its size: COLUMNS and LINES, or 80 x 24.
std::optional<Screen> screen_of(int descriptor);

// TERM=dumb: the terminal can neither rewrite a line nor show colors.
bool is_dumb_terminal();

enum class Color { kAuto, kAlways, kNever };

// kAuto: no if NO_COLOR is not empty. Yes for stdout, even if it is not a terminal, if CLICOLOR_FORCE is neither empty
// nor 0. Else yes for terminals that are not dumb.
bool wants_color(Color color, bool is_stdout, bool is_screen);

// Where and how a table is shown.
struct Look {
  std::optional<Screen> screen = {};  // nullopt: a file or a pipe. The table then has every column and any width
  bool in_color = false;              // shows NaN and Inf in red
};

// `output`: a file, or empty for stdout.
Look look_of(Color color, const std::string& output);

}  // namespace tensorstat::cli
