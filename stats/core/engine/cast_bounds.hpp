// Scaled casts: which magnitudes |x| of a dtype does a cast of x * scale turn into 0, and which does it bring out of
// range? The product is exact; only the cast rounds, to nearest, ties to even. It rises with |x|, so each answer is a
// range of |x|.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "stats/core/engine/needs.hpp"

namespace tensorstat {

// The words that precision/lift/count_casts.h reads.
inline constexpr std::size_t kCastBoundWords = 12;
using CastBounds = std::array<std::uint64_t, kCastBoundWords>;

bool is_cast_scale(double scale);  // finite, and above 0
CastBounds cast_bounds(Dtype dtype, double scale);

// Whether casts are counted at a scale other than 1. Then the folds do not count casts; count_casts() does.
constexpr bool scales_casts(Needs needs, double scale) { return (needs & kCasts) != 0 && scale != 1; }

// Adds the cast counts among `needs` of the first `count` elements, fewer than 2^32, to the words of a partial.
void count_casts(Dtype dtype, std::span<const std::byte> elements, std::uint64_t count, const CastBounds& bounds,
                 Needs needs, std::span<std::int64_t> words);

}  // namespace tensorstat
