// Computes statistics and digests of tensors in one read: each piece is folded and then digested while it is in the
// cache.
#pragma once

#include <memory>
#include <span>

#include "host/bin_counters.hpp"
#include "host/thread_pool.hpp"
#include "stats/core/engine/engine.hpp"

namespace tensorstat::host {

std::unique_ptr<Digester> make_digester(Need which, Dtype dtype);

// As HostEngine::measure, for requests with digests.
Status digest_pass(std::span<const Tensor> tensors, const Wanted& wanted, const Take& take, ThreadPool& pool,
                   BinCounters& bins);

}  // namespace tensorstat::host
