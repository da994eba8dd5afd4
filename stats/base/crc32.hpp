// The checksums of zip archives, of statistics and of msprobe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tensorstat {

// That of some bytes (0 for none) and of those behind them, as zlib's crc32; at the speed of a core's cache where the
// processor multiplies without carry.
std::uint32_t crc32_of(std::uint32_t before, std::span<const std::byte> bytes);

// The exclusive or of the bytes, little-endian, as words of 8, the last of which is filled with 0.
std::uint64_t xor64_of(std::span<const std::byte> bytes);

}  // namespace tensorstat
