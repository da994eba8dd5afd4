// Where a tensor's values lie, in a few characters.
#pragma once

#include <string>
#include <tensorstat/statistics.hpp>

namespace tensorstat::cli {

// A bar for each binade, as high as it has elements, in eighths of the highest, rounded up: "-6 ▁▂▄█▅▁ -1", of 2^-6 to 2^0. Of more than ten binades the first
// bar is of all that are lower, and a "≤" stands before it. Nothing where no element is in a binade.
std::string sparkline(const ExponentCounts& counts);

}  // namespace tensorstat::cli
