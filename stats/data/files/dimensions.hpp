#pragma once

#include <cstddef>

namespace tensorstat {

// The most dimensions of a tensor in a file. NumPy and torch have no more.
inline constexpr std::size_t kMostDimensions = 64;

}  // namespace tensorstat
