// The last step: an exact sum, divided or rooted, rounded once. Integer arithmetic throughout, so
// neither the caller's rounding mode nor flush-to-zero has a say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tensorstat::precision {

// A binary format with p significant bits, the exponent of its smallest positive value, and that of
// its largest power of two.
struct Format {
  int significant_bits;
  int least_exponent;
  int greatest_exponent;
};
inline constexpr Format kBinary64{53, -1074, 1023};
inline constexpr Format kBinary32{24, -149, 127};
inline constexpr Format kBinary16{11, -24, 15};
inline constexpr Format kBfloat16{8, -133, 127};

// The most words of an exact number: float64's sum of squares has 137 (families.h).
inline constexpr std::size_t kMostWords = 140;

// An exact number: the sum of words[i] * 2^(32 i + exponent), in any state of carry.
struct Exact {
  std::span<const std::int64_t> words;
  int exponent;
};

// `exact` / divisor to the nearest value of `format`, ties to even; beyond its range, an infinity.
// divisor is not 0. Zero is +0.
double round_quotient(const Exact& exact, std::uint64_t divisor, const Format& format);

// The square root of `exact`, likewise. `exact` is not negative.
double round_root(const Exact& exact, const Format& format);

}  // namespace tensorstat::precision
