// Texts with one entry per line, written by people.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <tensorstat/status.hpp>

namespace tensorstat {

// Removes the first line with its LF or CR LF, and returns it without these.
inline std::string_view take_line(std::string_view& text) {
  std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// `line` without surrounding blanks and without its comment. A # begins a comment at the beginning of the line or after
// a blank.
std::string_view without_comment(std::string_view line);

// Removes and returns the first word; empty if the line has no more words. Blanks separate words.
std::string_view take_word(std::string_view& line);

// Calls `each(line) -> Status` for every line that is not blank or a comment. Stops at the first error and adds the
// line number to it.
template <typename Each>
Status for_each_line(std::string_view text, const Each& each) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = without_comment(take_line(text));
    if (line.empty()) continue;
    if (Status taken = each(line); !taken) {
      return Error{taken.error().code, "line " + std::to_string(number) + ": " + taken.error().message};
    }
  }
  return {};
}

}  // namespace tensorstat
