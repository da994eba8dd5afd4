// The correct value of every statistic of a tensor, by rational arithmetic. Slow. It shares no code with the library,
// only types for requests and results.
#pragma once

#include <gmpxx.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tensorstat/catalog.hpp>
#include <tensorstat/statistics.hpp>

namespace oracle {

// A binary floating-point format of IEEE 754: the bits of the exponent field and of the fraction field.
struct Ieee {
  int exponent_bits;
  int fraction_bits;

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  int least_exponent() const { return 1 - bias() - fraction_bits; }  // the exponent of the smallest subnormal
};
inline constexpr Ieee kBinary16{5, 10};
inline constexpr Ieee kBfloat16{8, 7};
inline constexpr Ieee kBinary32{8, 23};
inline constexpr Ieee kBinary64{11, 52};

Ieee format_of(tensorstat::Dtype dtype);  // for float dtypes

// The nearest value of the format, ties to even; infinity above its range. Zero is +0.
double nearest(const mpq_class& exact, Ieee format);
double nearest_root(const mpq_class& exact, Ieee format);  // for numbers >= 0

// For numbers >= 1, to about 320 bits: enough to round results down to 2^-66 correctly.
mpq_class log2(const mpq_class& number);

// number * 2^exponent
mpq_class scaled(const mpz_class& number, long exponent);

// All facts about a tensor, before any rounding.
struct Facts {
  std::uint64_t count = 0, nans = 0, positive_infs = 0, negative_infs = 0, zeros = 0, negatives = 0;
  std::uint64_t subnormals = 0, minus_zeros = 0;
  // For float8 e4m3fn and e5m2, float16, bfloat16: the number of elements that a cast makes 0, and that overflow.
  std::array<std::uint64_t, 4> lost{}, beyond{};
  tensorstat::Value most, least;                // NaN ignored; monostate without elements
  tensorstat::Value least_size;                 // the smallest |x| that is not 0; monostate if all are 0
  tensorstat::Value finite_most, finite_least;  // NaN and infinities ignored; else as most and least
  // The first index of each; monostate if all are 0.
  tensorstat::Value nan_at, infinity_at, most_at, least_at;
  std::map<int, std::uint64_t> binades;  // counts finite elements that are neither 0 nor subnormal
  std::uint32_t crc32 = 0;
  std::uint64_t xor64 = 0;
  mpq_class sum, squares, sizes;       // of x, x * x and |x|, over the finite elements
  mpq_class positives, negatives_sum;  // of the finite elements above 0, and of those below 0
};
Facts facts(tensorstat::Dtype dtype, std::span<const std::byte> bytes);
// Facts of the first `count` elements of a packed dtype.
Facts facts_of_packed(tensorstat::Dtype dtype, std::span<const std::byte> bytes, std::uint64_t count);

// The value of each category except digests, in the catalog's order. Real numbers are rounded to `format`.
std::array<tensorstat::Value, tensorstat::kCategoryCount> answers(const Facts& facts, Ieee format = kBinary64);

// Whether the values have the same bits. All NaN are the same.
bool same(const tensorstat::Value& a, const tensorstat::Value& b);

// For messages: a double is shown with its digits and its bits.
std::string shown(const tensorstat::Value& value);

}  // namespace oracle
