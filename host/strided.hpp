// Elements that do not lie one after another, gathered piece by piece in C order: whatever the tensor's
// size, never more than a window of it is copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <tensorstat/tensor.hpp>

namespace tensorstat::host {

// Copies elements [first, first + window.size() / element) of `tensor`, which is strided, in C order.
void gather(const Tensor& tensor, std::uint64_t first, std::span<std::byte> window);

}  // namespace tensorstat::host
