// A small bar chart of a tensor's exponents.
#pragma once

#include <string>
#include <tensorstat/statistics.hpp>

namespace tensorstat::cli {

// One bar per binade: "-6 ▁▂▄█▅▁ -1" for 2^-6 to 2^0. Heights are in eighths of the highest bar, rounded up. Above ten
// binades the first bar sums up all lower ones, with "≤" before it. Empty if no element is in a binade.
std::string sparkline(const ExponentCounts& counts);

}  // namespace tensorstat::cli
