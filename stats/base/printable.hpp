// Text from outside, such as a file's name or what a file says, as it may stand in a message or a table.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tensorstat {

// One line that a terminal only prints: valid UTF-8 stays as it is. Control characters (C0, DEL, C1), line
// separators, marks that change the direction of text or cannot be seen, and bytes that are not UTF-8 are written
// as \n, \x1b, \u202e or \xff. What it gives it leaves as it is, so that nothing is escaped twice.
std::string printable(std::string_view text);

// The same of at most the first `most_bytes`; then "...", where there is more.
std::string shown(std::string_view text, std::size_t most_bytes = 40);

// 'text', as shown() has it.
std::string in_quotes(std::string_view text);

}  // namespace tensorstat
