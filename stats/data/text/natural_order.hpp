// Natural order of names: layer.2 before layer.10.
#pragma once

#include <string_view>

namespace tensorstat {

// Whether `a` comes before `b`. Digits are compared as numbers of any length, everything else as bytes. This is a total
// order: names that differ only in leading zeros are compared as bytes.
bool natural_before(std::string_view a, std::string_view b);

}  // namespace tensorstat
