// The correct value of every statistic of two tensors, by integers of any length. Slow. It shares no code with the
// library, only types for requests and results.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <tensorstat/pair.hpp>

namespace oracle {

// The values in the order of the list. Both tensors must have the same number of elements. Indices are those of the
// first tensor.
std::array<tensorstat::Value, tensorstat::kPairStatisticCount> pair_answers(
    tensorstat::Dtype a, std::span<const std::byte> of_a, tensorstat::Dtype b, std::span<const std::byte> of_b,
    const tensorstat::PairTolerance& tolerance, std::uint64_t first_index = 0);

}  // namespace oracle
