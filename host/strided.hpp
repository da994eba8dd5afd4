// Elements that do not lie one after another, gathered piece by piece in C order: whatever the tensor's
// size, never more than a window of it is copied.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <tensorstat/tensor.hpp>

namespace tensorstat::host {

// Whether the elements lie one after another in some order, as those of a transposed tensor do. What does not depend on
// the order can be read as they lie.
bool lies_densely(const Tensor& tensor);

// Copies elements [first, first + window.size() / element) of `tensor`, which is strided, in C order.
void gather(const Tensor& tensor, std::uint64_t first, std::span<std::byte> window);

// A strided tensor is gathered through this much of a thread's stack: it stays in the L1 cache, and holds
// a whole number of tiles of `low`.
inline constexpr std::size_t kGatherBytes = std::size_t{16} << 10;

// Hands elements [first, first + count) to `take`, in order, as spans of bytes and how many elements these hold: of at
// most `most_bytes` where they lie, which are a whole number of elements; or of kGatherBytes, gathered. The first of a
// packed dtype begins a byte.
template <typename Take>
void in_pieces(const Tensor& tensor, std::uint64_t first, std::uint64_t count, std::uint64_t most_bytes,
               const Take& take) {
  const std::uint64_t element_bytes = size_bytes(tensor.dtype);
  if (tensor.strides == nullptr) {
    const std::byte* from = tensor.data() + bytes_of(tensor.dtype, first);
    for (std::uint64_t left = bytes_of(tensor.dtype, count); left != 0;) {
      const std::uint64_t taken = std::min(most_bytes, left);
      // The last piece without a division, which takes a while.
      const std::uint64_t elements = taken == left ? count : elements_of(tensor.dtype, taken);
      take(std::span(from, taken), elements);
      count -= elements;
      from += taken;
      left -= taken;
    }
    return;
  }
  alignas(64) std::array<std::byte, kGatherBytes> window;
  for (std::uint64_t done = 0; done < count;) {
    const std::uint64_t taken = std::min(kGatherBytes / element_bytes, count - done);
    const std::span piece = std::span(window).first(taken * element_bytes);
    gather(tensor, first + done, piece);
    take(std::span<const std::byte>(piece), taken);
    done += taken;
  }
}

}  // namespace tensorstat::host
