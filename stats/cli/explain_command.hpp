// What a statistic costs, in words.
#pragma once

#include <string>
#include <tensorstat/catalog.hpp>

namespace tensorstat::cli {

// What the pass over a tensor keeps for it, and which others are then free.
std::string cost(Category category);

}  // namespace tensorstat::cli
