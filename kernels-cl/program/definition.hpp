// The definition of every statistic, element by element. A device must agree with it. It is compiled as C++ from the
// texts that the kernels share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <tensorstat/pair.hpp>

#include "stats/core/engine/needs.hpp"

namespace tensorstat::cl_engine {

// Lifts the first `count` elements of these bytes into the words of a partial that keeps `needs`, and counts them.
void lift_all(Dtype dtype, Needs needs, std::span<const std::byte> elements, std::uint64_t count,
              std::span<std::int64_t> words);

// The same in `low`, for dtypes that have a `low`.
void lift_tiles(Dtype dtype, Needs needs, std::span<const std::byte> elements, std::uint64_t count,
                std::span<std::int64_t> words);

// Lifts elements of two tensors into the words of a pair's partial. Both spans hold the same number of whole elements.
void lift_pairs(Dtype a, std::span<const std::byte> of_a, Dtype b, std::span<const std::byte> of_b,
                const PairTolerance& tolerance, std::uint64_t first_index, std::span<std::int64_t> words);

}  // namespace tensorstat::cl_engine
