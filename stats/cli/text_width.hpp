// How wide a text is on a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tensorstat::cli {

// The columns that a terminal gives a text that printable() of files/shown.hpp has made: two for a character of
// Chinese, Japanese or Korean, none for a mark that stands upon another character.
std::size_t width(std::string_view text);

// The text, or, where it is wider than `columns`, its beginning and its end around an ellipsis. The end gets two thirds
// of the room: names of tensors differ there.
std::string elided(std::string_view text, std::size_t columns);

}  // namespace tensorstat::cli
