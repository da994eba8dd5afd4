// The order of names that people expect.
#pragma once

#include <string_view>

namespace tensorstat {

// Whether `a` comes before `b`: runs of digits are compared as numbers of any length, so that layer.2 comes before
// layer.10, everything else as bytes. A total order: names that differ in leading zeros alone are compared as bytes.
bool natural_before(std::string_view a, std::string_view b);

}  // namespace tensorstat
