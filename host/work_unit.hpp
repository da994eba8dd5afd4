// How the host divides work among threads.
#pragma once

#include <cstdint>

namespace tensorstat::host {

// The size of a unit of work, some tens of microseconds: large enough that distributing units costs nothing, and small
// enough that all threads end at about the same time. A multiple of the tile of `low`.
inline constexpr std::uint64_t kUnitBytes = std::uint64_t{1} << 20;
// Below this, waking another thread costs more than it saves.
inline constexpr std::uint64_t kAloneBytes = std::uint64_t{128} << 10;
// The fixed cost of a tensor, or of a pair, expressed in bytes.
inline constexpr std::uint64_t kTensorBytes = 4096;

}  // namespace tensorstat::host
