// Of a scale: which sizes of a dtype's elements a cast of x * scale would make 0, and which it would bring out of range. The
// product is exact, and rounded once by the cast, to nearest, ties to even; as it rises with |x|, both are a range of sizes.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <tensorstat/partial.hpp>

namespace tensorstat {

// The words that precision/lift/count_casts.h reads.
inline constexpr std::size_t kCastBoundWords = 12;
using CastBounds = std::array<std::uint64_t, kCastBoundWords>;

bool is_cast_scale(double scale);  // finite, and above 0
CastBounds cast_bounds(Dtype dtype, double scale);

// Whether what is kept depends on a scale that is not 1: then no fold counts casts.
constexpr bool scales_casts(Needs needs, double scale) { return (needs & kCasts) != 0 && scale != 1; }

// Adds what those among `needs` come to of the first `count` of these elements, fewer than 2^32, to the words of a partial.
void count_casts(Dtype dtype, std::span<const std::byte> elements, std::uint64_t count, const CastBounds& bounds, Needs needs,
                 std::span<std::int64_t> words);

}  // namespace tensorstat
