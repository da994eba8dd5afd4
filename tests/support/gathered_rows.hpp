// The rows of a tensor by axis or by block, gathered by simple loops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tensorstat/by.hpp>
#include <vector>

// The elements of each row, in C order. An element's indices give its row. `size`: the bytes of an element.
std::vector<std::vector<std::byte>> gathered_rows(const std::vector<std::byte>& bits, std::uint32_t size,
                                                  const tensorstat::By& by, std::uint64_t row_count);
