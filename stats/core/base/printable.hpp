// Makes untrusted text, such as a file name or file content, safe to print in a message or a table.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tensorstat {

// Returns one line without effects on a terminal. Valid UTF-8 is unchanged. Control characters (C0, DEL, C1), line
// separators, marks that change the direction of text or cannot be seen, and bytes that are not UTF-8 are written as
// \n, \x1b, \u202e or \xff. Applying it twice changes nothing more.
std::string printable(std::string_view text);

// printable() of a name. A name of over 1,000 bytes has "..." in its middle: nobody reads all of it, and a table is as
// wide as its longest.
std::string printable_name(std::string_view text);

// printable() of at most the first `most_bytes`, with "..." if there is more.
std::string shown(std::string_view text, std::size_t most_bytes = 40);

// 'text', as shown() has it.
std::string in_quotes(std::string_view text);

}  // namespace tensorstat
