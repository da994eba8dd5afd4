// How the tensors of a training step come about.
#pragma once

#include <vector>

#include "bench/data.hpp"

namespace tensorstat::bench {

// 2^20 elements; none of a kind that is drawn and not computed.
std::vector<float> real_values(Kind kind);

}  // namespace tensorstat::bench
