// The host's pass over pairs of tensors.
#pragma once

#include <cstdint>
#include <span>
#include <tensorstat/pair.hpp>

#include "host/thread_pool.hpp"

namespace tensorstat::host {

// Folds pair i into partials[i]. The CPU must be able to read all tensors.
void pair_pass(std::span<const TensorPair> pairs, std::uint64_t first_index, std::span<PairPartial> partials,
               ThreadPool& pool);

}  // namespace tensorstat::host
