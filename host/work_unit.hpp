// How the host cuts work among threads.
#pragma once

#include <cstdint>

namespace tensorstat::host {

// A unit of work is about this much, some tens of microseconds: enough that handing it out costs
// nothing, little enough that the threads end together. A whole number of tiles of `low`.
inline constexpr std::uint64_t kUnitBytes = std::uint64_t{1} << 20;
// Below this, waking another thread costs more than it saves.
inline constexpr std::uint64_t kAloneBytes = std::uint64_t{128} << 10;
// What a tensor, or a pair of them, costs beside its bytes, in bytes.
inline constexpr std::uint64_t kTensorBytes = 4096;

}  // namespace tensorstat::host
