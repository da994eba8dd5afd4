// The tensors that are measured: made once a process, the same bits in every run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <tensorstat/tensor.hpp>

namespace tensorstat::bench {

enum class Kind : std::uint8_t {
  kNormal,      // N(0, 1); integers and bools take every value alike
  kLogUniform,  // every exponent alike, subnormals among them: the widest range a float dtype has
  kSubnormal,   // nothing but subnormals
  kNanLaden,    // N(0, 1), every tenth element a NaN
  kMaxima,      // the largest finite value, its sign in turns
  kAscending,   // from -1 to 1 in order, over the whole of it
};
std::string_view name(Kind kind);

// `bytes` of host memory, page-aligned, that live until the process ends. Any kind but kNormal is
// of a float dtype. A run of 2^20 elements repeats: what a pass costs does not depend on more.
Tensor make(Dtype dtype, std::uint64_t bytes, Kind kind = Kind::kNormal);

std::span<const std::byte> bytes_of(const Tensor& tensor);

}  // namespace tensorstat::bench
