// FNV-1a, a hash of 64 bits that tells texts apart. It protects against nobody. Its constants:
// https://datatracker.ietf.org/doc/html/draft-eastlake-fnv
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tensorstat {

inline constexpr std::uint64_t kFnv1aOfNothing = 0xcbf29ce484222325;

// The hash of what `hash` is of, followed by `bytes`.
inline std::uint64_t fnv1a(std::uint64_t hash, std::span<const std::byte> bytes) {
  for (const std::byte each : bytes) hash = (hash ^ std::to_integer<std::uint64_t>(each)) * 0x100000001b3;
  return hash;
}

}  // namespace tensorstat
