// The checksum of zip archives, and of statistics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tensorstat {

// That of some bytes (0 for none) and of those behind them, as zlib's crc32; at the speed of a core's cache where the
// processor multiplies without carry.
std::uint32_t crc32_of(std::uint32_t before, std::span<const std::byte> bytes);

// The remainder that a part of a message leaves, for one that is so many bytes longer behind it; `back` takes that away
// again. precision/fingerprints.h says what for.
std::uint32_t crc32_moved(std::uint32_t remainder, std::uint64_t bytes, bool back = false);

}  // namespace tensorstat
