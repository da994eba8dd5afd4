// Statistics and digests of tensors in one read: each piece is folded just before it is digested, so that the
// second reader finds it in the cache.
#pragma once

#include <memory>
#include <span>

#include "host/bin_counters.hpp"
#include "host/thread_pool.hpp"
#include "stats/engine/engine.hpp"

namespace tensorstat::host {

std::unique_ptr<Digester> make_digester(Need which, Dtype dtype);

// As HostEngine::measure, where digests are among what is wanted.
Status digest_pass(std::span<const Tensor> tensors, const Wanted& wanted, const Take& take, ThreadPool& pool,
                   BinCounters& bins);

}  // namespace tensorstat::host
