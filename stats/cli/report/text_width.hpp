// How wide a text is on a terminal, and how it is cut to fit.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tensorstat::cli {

// The columns that a terminal gives a text that printable() of base/printable.hpp has made: two for a character of
// Chinese, Japanese or Korean, none for a mark that stands upon another character.
std::size_t width(std::string_view text);

// The text, or, where it is wider than `columns`, its beginning and its end around an ellipsis. The end gets two thirds
// of the room: names of tensors differ there.
std::string elided(std::string_view text, std::size_t columns);

// Each text elided; those that would look alike then keep the part in which they differ, and lose more of what they
// have in common before it and behind.
std::vector<std::string> elided_apart(std::span<const std::string_view> texts, std::size_t columns);

}  // namespace tensorstat::cli
