// The last step: an exact sum is divided or its root is taken, and the result is rounded once. All arithmetic is on
// integers, so neither the caller's rounding mode nor flush-to-zero has an effect.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "precision/generated/families.h"

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

// The most words of an exact number.
#define FAMILY_WORDS(family, sum_words, square_words, ...) std::max(sum_words, square_words),
inline constexpr std::size_t kMostExactWords = std::max({FAMILIES(FAMILY_WORDS)});
#undef FAMILY_WORDS

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

// The square root of `exact` / divisor, likewise.
double round_root_of_quotient(const Exact& exact, std::uint64_t divisor, const Format& format);

// The square root of `exact` / `divisor`, likewise. Neither is negative, and `divisor` is not 0.
double round_root_of_ratio(const Exact& exact, const Exact& divisor, const Format& format);

// product / sqrt(a * b), likewise. a and b are above 0.
double round_cosine(const Exact& product, const Exact& a, const Exact& b, const Format& format);

// Of n numbers with this sum and this sum of squares, the variance (n * squares - sum^2) / n^2, or its square root,
// likewise. n is not 0. Where rounded sums make it negative, it is +0.
enum class Deviation { kVariance, kStandard };
double round_deviation(const Exact& sum, const Exact& squares, std::uint64_t n, const Format& format, Deviation which);

// A size: significand * 2^exponent.
struct Size {
  std::uint64_t significand;
  int exponent;
};

// log2(dividend / divisor), likewise; neither is 0.
double round_log2(const Size& dividend, const Size& divisor, const Format& format);

}  // namespace tensorstat::precision
