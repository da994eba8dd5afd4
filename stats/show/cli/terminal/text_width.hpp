// Measures the width of text on a terminal, and cuts text to fit.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tensorstat::cli {

// The columns of a text from printable() (core/base/printable.hpp). Chinese, Japanese and Korean characters take two
// columns, combining marks none.
std::size_t width(std::string_view text);

// If the text is wider than `columns`: its beginning, an ellipsis and its end. The end gets two thirds of the columns,
// because names of tensors differ there.
std::string elided(std::string_view text, std::size_t columns);

// If the text is wider than `columns`: its beginning and an ellipsis. For sentences.
std::string cut_short(std::string_view text, std::size_t columns);

// A text in lines of at most `columns`, broken at spaces; at most `most` lines, the last of them cut_short().
std::vector<std::string> wrapped(std::string_view text, std::size_t columns, std::size_t most);

}  // namespace tensorstat::cli
