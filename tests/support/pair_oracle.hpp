// What every statistic of two tensors must be, from whole numbers of any length: slow, and sharing no code with the
// library, whose types it borrows to name its questions and answers.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <tensorstat/pair.hpp>

namespace oracle {

// In the order of the list. Both tensors have as many elements; the first one's index is given.
std::array<tensorstat::Value, tensorstat::kPairStatisticCount> pair_answers(tensorstat::Dtype a, std::span<const std::byte> of_a,
                                                                            tensorstat::Dtype b, std::span<const std::byte> of_b,
                                                                            const tensorstat::PairTolerance& tolerance,
                                                                            std::uint64_t first_index = 0);

}  // namespace oracle
