// What every statistic of a tensor must be, from rational arithmetic: slow, and sharing no code
// with the library, whose types it borrows to name its questions and answers.
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

// A binary floating-point format, as IEEE 754 describes one: bits of the exponent field, and of the
// fraction field.
struct Ieee {
  int exponent_bits;
  int fraction_bits;

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  int least_exponent() const { return 1 - bias() - fraction_bits; }  // of the smallest subnormal
};
inline constexpr Ieee kBinary16{5, 10};
inline constexpr Ieee kBfloat16{8, 7};
inline constexpr Ieee kBinary32{8, 23};
inline constexpr Ieee kBinary64{11, 52};

Ieee format_of(tensorstat::Dtype dtype);  // of a float dtype

// To the nearest value of the format, ties to even; an infinity beyond its range. Zero is +0.
double nearest(const mpq_class& exact, Ieee format);
double nearest_root(const mpq_class& exact, Ieee format);  // of a number that is not negative

// Of a number of 1 and more, to some 320 bits: no less than 2^-66 is rounded right.
mpq_class log2(const mpq_class& number);

// number * 2^exponent
mpq_class scaled(const mpz_class& number, long exponent);

// What there is to know of a tensor, before anything is rounded.
struct Facts {
  std::uint64_t count = 0, nans = 0, positive_infs = 0, negative_infs = 0, zeros = 0, negatives = 0;
  std::uint64_t subnormals = 0, minus_zeros = 0;
  // Of float8 e4m3fn and e5m2, float16, bfloat16: what a cast makes 0, and brings out of range.
  std::array<std::uint64_t, 4> lost{}, beyond{};
  tensorstat::Value most, least;  // monostate of no elements; ignores NaN
  tensorstat::Value least_size;   // the smallest |x| that is not 0; monostate where there is none
  tensorstat::Value finite_most, finite_least;  // as most and least; ignores infinities, too
  // Where each stands first; monostate where there is none.
  tensorstat::Value nan_at, infinity_at, most_at, least_at;
  std::map<int, std::uint64_t> binades;  // of the finite elements that are neither 0 nor subnormal
  std::uint32_t crc32 = 0;
  std::uint64_t xor64 = 0;
  mpq_class sum, squares, sizes;  // of the finite elements: of x, of x * x, of |x|
  mpq_class positives, negatives_sum;  // of those above 0, of those below 0
};
Facts facts(tensorstat::Dtype dtype, std::span<const std::byte> bytes);
// Of the first `count` elements of a packed dtype, which share bytes.
Facts facts_of_packed(tensorstat::Dtype dtype, std::span<const std::byte> bytes, std::uint64_t count);

// The value of each category but the digests, in the catalog's order; real numbers rounded to `format`.
std::array<tensorstat::Value, tensorstat::kCategoryCount> answers(const Facts& facts,
                                                                  Ieee format = kBinary64);

// Bit for bit, save that one NaN is as good as another.
bool same(const tensorstat::Value& a, const tensorstat::Value& b);

// With a double's bits beside its digits, for messages.
std::string shown(const tensorstat::Value& value);

}  // namespace oracle
