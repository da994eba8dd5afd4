// Texts for the columns of a full screen, and the styles of the terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "stats/answer/findings/findings.hpp"

namespace tensorstat::cli::top {

// Select graphic rendition: the parameter between "\x1b[" and "m".
inline constexpr std::string_view kFault = "31", kWarning = "33", kGood = "32", kSoft = "2", kBold = "1", kChosen = "7";

std::string_view style_of(FindingSeverity severity);

// A text in a column: cut in its middle, or filled with spaces on the right, or on the left.
std::string left(std::string_view text, std::size_t columns);
std::string right(std::string_view text, std::size_t columns);

std::string short_number(double number);
std::string with_commas(std::uint64_t number);  // "12,345,678"
std::string shown_age(double seconds);          // "12 s", "5 min"

// Whether a name has the filter in it. The filter is in lower case; the name's case does not matter.
bool fits(std::string_view name, std::string_view filter);
std::string in_lower_case(std::string text);

}  // namespace tensorstat::cli::top
