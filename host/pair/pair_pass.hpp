// The host's pass over pairs of tensors.
#pragma once

#include <span>

#include "host/thread_pool.hpp"
#include "stats/core/engine/engine.hpp"

namespace tensorstat::host {

// Folds each job's pair into its partial. The CPU must be able to read all tensors.
void pair_pass(std::span<const PairJob> jobs, ThreadPool& pool);

}  // namespace tensorstat::host
