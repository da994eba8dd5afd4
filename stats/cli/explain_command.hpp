// Describes the cost of a statistic.
#pragma once

#include <string>
#include <tensorstat/catalog.hpp>

namespace tensorstat::cli {

// What the pass over a tensor accumulates for it, and which statistics then cost nothing more.
std::string cost(Category category);

}  // namespace tensorstat::cli
