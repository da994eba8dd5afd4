// For decoders of ggml's blocks.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "stats/data/files/io/block_bytes.hpp"

namespace tensorstat::blocks {

using Bytes = const std::uint8_t*;
using Floats = float* __restrict;  // else a byte might be one of a value, and loops would stay scalar

inline std::uint32_t word16(Bytes bytes) { return bytes[0] | std::uint32_t{bytes[1]} << 8; }
inline std::uint32_t word32(Bytes bytes) { return word16(bytes) | word16(bytes + 2) << 16; }

// A float16. Multiplication by 2^112 moves the exponent's bias, and makes subnormals right, too.
inline float half(std::uint32_t bits) {
  const std::uint32_t sign = (bits & 0x8000) << 16, size = (bits & 0x7fff) << 13;
  constexpr std::uint32_t kInfinity = 0x7f800000, kHalfInfinity = 0x7c00u << 13;
  const auto moved = std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) * 0x1p112f);
  return std::bit_cast<float>(sign | (size >= kHalfInfinity ? size | kInfinity : moved));
}
inline float half(Bytes bytes) { return half(word16(bytes)); }

// Format has kValues, kBytes and decode(), which writes the values of one block.
template <typename Format>
constexpr BlockFormat format_of(std::string_view name) {
  return {name, Format::kValues, Format::kBytes, [](const std::byte* blocks, std::size_t count, float* values) {
            for (std::size_t i = 0; i < count; ++i) {
              Format::decode(reinterpret_cast<Bytes>(blocks) + i * Format::kBytes, values + i * Format::kValues);
            }
          }};
}

}  // namespace tensorstat::blocks
