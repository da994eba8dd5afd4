// Digests of whole tensors: many at once, over the pool.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "host/pool.hpp"
#include "stats/engine.hpp"

namespace tensorstat::host {

std::unique_ptr<Digest> make_digest(Need which, Dtype dtype);

// As HostEngine::digest.
Status digest_tensors(Need which, std::span<const Tensor> tensors, std::span<std::string> hex, Pool& pool);

}  // namespace tensorstat::host
