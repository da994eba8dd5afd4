// The definition of every statistic, element by element, compiled for C++ from the texts that the kernels
// share: what a device has to agree with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <tensorstat/pair.hpp>

#include "stats/engine/needs.hpp"

namespace tensorstat::cl_engine {

// Lifts the first `count` elements of these bytes into the words of a partial that keeps `needs`, and counts them.
void lift_all(Dtype dtype, Needs needs, std::span<const std::byte> elements, std::uint64_t count,
              std::span<std::int64_t> words);

// The same in `low`, for the dtypes that have one.
void lift_tiles(Dtype dtype, Needs needs, std::span<const std::byte> elements, std::uint64_t count,
                std::span<std::int64_t> words);

// Lifts whole elements of two tensors into the words of a pair's partial.
void lift_pairs(Dtype a, std::span<const std::byte> of_a, Dtype b, std::span<const std::byte> of_b,
                const PairTolerance& tolerance, std::uint64_t first_index, std::span<std::int64_t> words);

}  // namespace tensorstat::cl_engine
