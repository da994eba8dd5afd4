// Checksums: CRC-32 (zip archives, the statistic crc32, msprobe) and xor64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tensorstat {

// The CRC-32 of some bytes, as zlib's crc32: `before` is the CRC of the bytes before them, or 0. With carry-less
// multiplication it runs at the speed of the cache.
std::uint32_t crc32_of(std::uint32_t before, std::span<const std::byte> bytes);

// XOR of all little-endian 8-byte words; the last word is padded with 0.
std::uint64_t xor64_of(std::span<const std::byte> bytes);

}  // namespace tensorstat
