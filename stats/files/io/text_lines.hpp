// Texts that people write line by line.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <tensorstat/status.hpp>

namespace tensorstat {

// Takes the first line off, with its end of LF or CR LF, and gives it without.
inline std::string_view take_line(std::string_view& text) {
  std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// `line` without blanks around it, and without the comment that begins with a # at its beginning or after a blank.
std::string_view without_comment(std::string_view line);

// Takes the first word off; empty where there is none. Words stand between blanks.
std::string_view take_word(std::string_view& line);

// Calls `each(line) -> Status` with every line that is more than a comment. The first error ends it, and says which line it was.
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
