// The names nearest to a mistyped one.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tensorstat {

// The three names with the fewest letters to change, insert, leave out or exchange; of equal ones the first in `names`.
// A typed text of three letters or more that a name holds, or that holds a name, is as near as one letter. Letters of
// both cases, and - _ and space, are alike. The first 64 letters are compared.
std::vector<std::string> nearest_names(std::string_view typed, std::span<const std::string> names);

}  // namespace tensorstat
