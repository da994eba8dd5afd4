// Pairs of tensors on a device: those that it reads where they are, and those that it is sent.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <tensorstat/pair.hpp>

#include "kernels-cl/launch/context_set.hpp"

namespace tensorstat::cl_engine {

// Where both tensors can be worked on. An error, with words, where there is no such context.
Result<std::shared_ptr<QueueContext>> context_of_pair(ContextSet& contexts, const TensorPair& pair);

// DeviceEngine::compare. A tensor that the device does not read where it is goes through one window of device memory,
// in parts. Nothing overlaps there: who insists on a device for what is in host memory pays for the way.
Result<std::uint64_t> compare_pairs(ContextSet& contexts, std::span<const TensorPair> pairs, std::uint64_t first_index,
                                    std::span<PairPartial> partials);

}  // namespace tensorstat::cl_engine
