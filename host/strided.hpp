// Gathers the elements of strided tensors in C order, piece by piece. Only a buffer full is copied at a time, whatever
// the tensor's size.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tensorstat/tensor.hpp>

namespace tensorstat::host {

// Whether the elements are contiguous in some order, as in a transposed tensor. Results that do not depend on the order
// can be computed without gathering.
bool lies_densely(const Tensor& tensor);

// Copies elements [first, first + to.size() / element) of the strided `tensor`, in C order.
void gather(const Tensor& tensor, std::uint64_t first, std::span<std::byte> to);

// The size of the buffer on a thread's stack. It fits into the L1 cache and is a multiple of the tile of `low`.
inline constexpr std::size_t kGatherBytes = std::size_t{16} << 10;

// Calls take(bytes, count) for elements [first, first + count) in order. Contiguous elements are passed in place, in
// pieces of at most `most_bytes`, a multiple of the element size. Others are gathered in pieces of kGatherBytes. In a
// packed dtype, element `first` must begin a byte.
template <typename Take>
void in_pieces(const Tensor& tensor, std::uint64_t first, std::uint64_t count, std::uint64_t most_bytes,
               const Take& take) {
  const std::uint64_t element_bytes = size_bytes(tensor.dtype);
  if (tensor.strides == nullptr) {
    const std::byte* from = tensor.data() + bytes_of(tensor.dtype, first);
    for (std::uint64_t left = bytes_of(tensor.dtype, count); left != 0;) {
      const std::uint64_t taken = std::min(most_bytes, left);
      // The last piece needs no division, which is slow.
      const std::uint64_t elements = taken == left ? count : elements_of(tensor.dtype, taken);
      take(std::span(from, taken), elements);
      count -= elements;
      from += taken;
      left -= taken;
    }
    return;
  }
  alignas(64) std::array<std::byte, kGatherBytes> buffer;
  for (std::uint64_t done = 0; done < count;) {
    const std::uint64_t taken = std::min(kGatherBytes / element_bytes, count - done);
    const std::span piece = std::span(buffer).first(taken * element_bytes);
    gather(tensor, first + done, piece);
    take(std::span<const std::byte>(piece), taken);
    done += taken;
  }
}

}  // namespace tensorstat::host
