#include "stats/show/cli/terminal/screen.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <string_view>

namespace tensorstat::cli {
namespace {

std::string_view environment(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

std::size_t size_from(unsigned short told, const char* variable, std::size_t otherwise) {
  if (told != 0) return told;
  const std::string_view text = environment(variable);
  std::size_t size = 0;
  const bool is_number = std::from_chars(text.data(), text.data() + text.size(), size).ec == std::errc();
  return is_number && size > 0 && size < 100'000 ? size : otherwise;
}

}  // namespace

std::optional<Screen> screen_of(int descriptor) {
  if (::isatty(descriptor) != 1) return std::nullopt;
  winsize told = {};
  if (::ioctl(descriptor, TIOCGWINSZ, &told) != 0) told = {};
  const Screen usual;
  return Screen{size_from(told.ws_col, "COLUMNS", usual.columns), size_from(told.ws_row, "LINES", usual.rows)};
}

bool is_dumb_terminal() { return environment("TERM") == "dumb"; }

bool wants_color(Color color, bool is_stdout, bool is_screen) {
  if (color != Color::kAuto) return color == Color::kAlways;
  if (!environment("NO_COLOR").empty()) return false;
  const std::string_view force = environment("CLICOLOR_FORCE");
  if (!force.empty() && force != "0") return is_stdout;
  return is_screen && !is_dumb_terminal();
}

Look look_of(Color color, const std::string& output) {
  const bool is_stdout = output.empty();
  const auto screen = is_stdout ? screen_of(STDOUT_FILENO) : std::nullopt;
  return {screen, wants_color(color, is_stdout, screen.has_value())};
}

}  // namespace tensorstat::cli
