// MD5's compression of many messages side by side, one lane each, for each instruction set.
// The translation units behind these tables are compiled with flags the rest of the program may
// not run, so they define nothing but the tables and include no header with inline functions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tensorstat {

inline constexpr int kMd5MostLanes = 64;

// RFC 1321's words A, B, C, D of every lane.
struct Md5State {
  alignas(64) std::uint32_t word[4][kMd5MostLanes];
};

// Lane l of `state` takes in the `block_count` blocks of 64 bytes at next[l], of any alignment.
using Md5Advance = void (*)(Md5State& state, const std::byte* const* next, std::size_t block_count);

// advance[v - 1] works on the first v * width lanes, whether or not all are wanted: every one of
// their `next` must be readable.
struct Md5Kernels {
  int width;    // lanes in a vector
  int vectors;  // how many of `advance` there are
  Md5Advance advance[4];

  constexpr int lanes() const { return width * vectors; }
};

extern const Md5Kernels kMd5Scalar, kMd5Baseline;
#if defined(__x86_64__)
extern const Md5Kernels kMd5Avx2, kMd5Avx512, kMd5Avx512Few;
#endif

}  // namespace tensorstat
