// Computes the tensors of a training step.
#pragma once

#include <vector>

#include "bench/data.hpp"

namespace tensorstat::bench {

// 2^20 elements; empty for kinds that are drawn at random.
std::vector<float> real_values(Kind kind);

}  // namespace tensorstat::bench
