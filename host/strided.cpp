#include "host/strided.hpp"

#include <algorithm>
#include <cstring>

namespace tensorstat::host {
namespace {

// Copies one run along the innermost dimension. The element size is a template constant, so that each memcpy compiles
// to a move of a register.
template <std::size_t kBytes>
void gather_run(std::byte* to, const std::byte* from, std::int64_t stride, std::uint64_t count) {
  if (stride == static_cast<std::int64_t>(kBytes)) {
    std::memcpy(to, from, count * kBytes);
    return;
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    std::memcpy(to + i * kBytes, from + static_cast<std::int64_t>(i) * stride, kBytes);
  }
}

template <std::size_t kBytes>
void gather_elements(const Tensor& tensor, std::uint64_t first, std::span<std::byte> to) {
  const Strides& strides = *tensor.strides;
  const std::byte* base = tensor.data();
  const std::uint64_t inner = strides.shape.empty() ? 1 : strides.shape.back();
  const std::int64_t inner_stride = strides.shape.empty() ? 0 : strides.bytes.back();
  for (std::uint64_t done = 0, count = to.size() / kBytes; done < count;) {
    std::uint64_t row = (first + done) / inner;
    const std::uint64_t column = (first + done) % inner;
    std::int64_t offset = static_cast<std::int64_t>(column) * inner_stride;
    for (std::size_t d = strides.shape.size(); d-- > 1;) {
      offset += static_cast<std::int64_t>(row % strides.shape[d - 1]) * strides.bytes[d - 1];
      row /= strides.shape[d - 1];
    }
    const std::uint64_t run = std::min(inner - column, count - done);
    gather_run<kBytes>(to.data() + done * kBytes, base + offset, inner_stride, run);
    done += run;
  }
}

}  // namespace

bool lies_densely(const Tensor& tensor) {
  if (tensor.strides == nullptr) return true;
  const Strides& strides = *tensor.strides;
  // From the innermost outwards: find the dimension with a stride equal to the size of the dimensions so far.
  auto stride = static_cast<std::int64_t>(size_bytes(tensor.dtype));
  std::uint64_t elements = 1;
  while (elements < tensor.element_count) {
    std::size_t d = 0;
    while (d < strides.shape.size() && (strides.shape[d] <= 1 || strides.bytes[d] != stride)) ++d;
    if (d == strides.shape.size()) return false;
    elements *= strides.shape[d];
    stride *= static_cast<std::int64_t>(strides.shape[d]);
  }
  return elements == tensor.element_count;
}

void gather(const Tensor& tensor, std::uint64_t first, std::span<std::byte> to) {
  switch (size_bytes(tensor.dtype)) {
    case 1:
      return gather_elements<1>(tensor, first, to);
    case 2:
      return gather_elements<2>(tensor, first, to);
    case 4:
      return gather_elements<4>(tensor, first, to);
    case 8:
      return gather_elements<8>(tensor, first, to);
    default:
      return gather_elements<16>(tensor, first, to);
  }
}

}  // namespace tensorstat::host
