// Finds the prefixes in which the names of two sides differ.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tensorstat {

// The line of --names that pairs at least half of the fewer names: "*,module.*" if B has module. before each name of A.
// A prefix ends with `.`, `/` or `:`. Empty if no prefix pairs enough names. If both sides have a prefix, at least two
// names must pair, because a.weight and b.weight alone are too little evidence.
std::string prefix_line(std::span<const std::string_view> a, std::span<const std::string_view> b);

}  // namespace tensorstat
