// MD5's compression of many messages side by side, one lane each, for each instruction set.
// The sources of these tables are compiled for instruction sets that the machine may not have. So they define only the
// tables and include no header with inline functions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tensorstat {

inline constexpr int kMd5MostLanes = 64;

// The words A, B, C, D of RFC 1321 for every lane.
struct Md5State {
  alignas(64) std::uint32_t word[4][kMd5MostLanes];
};

// Digests `block_count` blocks of 64 bytes at next[l], at any alignment, into lane l of `state`.
using Md5Advance = void (*)(Md5State& state, const std::byte* const* next, std::size_t block_count);

// advance[v - 1] processes the first v * width lanes. Unused lanes among them need a readable `next`, too.
struct Md5Kernels {
  int width;    // lanes in a vector
  int vectors;  // number of entries of `advance`
  Md5Advance advance[4];

  constexpr int lanes() const { return width * vectors; }
};

extern const Md5Kernels kMd5Scalar, kMd5Baseline;
#if defined(__x86_64__)
extern const Md5Kernels kMd5Avx2, kMd5Avx512, kMd5Avx512Few;
#endif

}  // namespace tensorstat
