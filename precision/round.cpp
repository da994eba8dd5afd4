#include "precision/round.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "precision/long_number.hpp"

namespace tensorstat::precision {
namespace {

int bit_width(u128 value) {
  const auto high = static_cast<std::uint64_t>(value >> 64);
  return high != 0 ? 64 + std::bit_width(high) : std::bit_width(static_cast<std::uint64_t>(value));
}

// The magnitude of an exact number: bits * 2^exponent. The first bit of `bits` is set, but zero has no bits. With
// `more` the number is larger by less than one unit.
struct Leading {
  u128 bits = 0;
  int exponent = 0;
  bool more = false;
  bool negative = false;
};

// Sets `more` if bits below the number were cut off.
Leading leading_of(const Number& number, bool more = false) {
  const auto& digits = number.digits;
  const std::size_t count = number.count;
  Leading result;
  if (count == 0) return result;
  result.negative = number.negative;
  for (std::size_t i = 1; i <= 4; ++i) result.bits = result.bits << 32 | (i <= count ? digits[count - i] : 0);
  const int shift = std::countl_zero(digits[count - 1]);
  std::size_t below = count < 4 ? 0 : count - 4;
  result.bits <<= shift;
  result.more = more;
  if (below != 0) {
    const std::uint64_t next = std::uint64_t{digits[--below]} << shift;
    result.bits |= next >> 32;
    result.more = result.more || static_cast<std::uint32_t>(next) != 0;
  }
  while (!result.more && below != 0) result.more = digits[--below] != 0;
  result.exponent = number.exponent + 32 * (static_cast<int>(count) - 4) - shift;
  return result;
}

Leading leading_of(const Exact& exact) {
  Number number;
  read(exact, number);
  return leading_of(number);
}

// The first 64 bits of a number, and what is computed from them, are too small by less than so many units.
constexpr std::uint64_t kDoubt = 4;

// The magnitude of an exact number, up to three units too small: bits * 2^exponent. The first bit of `bits` is set.
struct Near {
  std::uint64_t bits;
  int exponent;
  std::uint64_t sign;  // the first bit is set if the number is negative
};

// Takes the first words that hold more than the sign. They decide almost every sum; false if they do not suffice. There
// are few branches on the data, because these cost more than the arithmetic.
inline bool near_of(const Exact& exact, Near& result) {
  const std::int64_t* const words = exact.words.data();
  std::size_t count = exact.words.size();
  while (count >= 4 && (words[count - 1] | words[count - 2] | words[count - 3] | words[count - 4]) == 0) count -= 4;
  // Skips words of 0 and words of the sign alike.
  std::uint64_t first = 0;
  do {
    if (count == 0) return false;
    first = (first << 32) + static_cast<std::uint64_t>(words[--count]);
  } while (first + 1 <= 1);
  const auto below = [&](std::size_t i) { return i <= count ? words[count - i] : 0; };
  // The unit is the unit of the second word after the first one. Later words are below 2^62 and add less than two
  // units.
  const i128 next = static_cast<i128>(below(1)) * (i128{1} << 32) + below(2) + (below(3) >> 32);
  const std::uint64_t high = first + static_cast<std::uint64_t>(next >> 64), low = static_cast<std::uint64_t>(next);
  const std::uint64_t sign = std::uint64_t{0} - (high >> 63);
  const std::uint64_t top = high ^ sign;
  if (top == 0) return false;
  const int shift = std::countl_zero(top);
  result.bits = top << shift | (low ^ sign) >> 1 >> (63 - shift);
  result.exponent = exact.exponent + 32 * static_cast<int>(count) - shift;
  result.sign = sign << 63;
  return true;
}

// Rounds bits * 2^exponent, which may be kDoubt units too small, to the nearest value of `format`. Returns false if the
// doubt matters, or near the ends of the range. There is no branch on rounding up, because it would be mispredicted.
inline bool round_near(std::uint64_t bits, int exponent, const Format& format, double& result) {
  const int shift = std::countl_zero(bits);
  const int dropped = 64 - format.significant_bits;
  const int unit = exponent - shift + dropped;
  if (unit < format.least_exponent || exponent - shift + 63 >= format.greatest_exponent) return false;
  bits <<= shift;
  const std::uint64_t rest = bits << format.significant_bits, doubt = kDoubt << shift << format.significant_bits;
  const std::uint64_t half = std::uint64_t{1} << 63;
  if (rest - (half - doubt) <= 2 * doubt) return false;
  const std::uint64_t rounded = (bits >> dropped) + (rest >> 63);
  // The implied bit of a binary64 adds 1 to the exponent. Rounding to the next power of two adds another 1.
  const int room = 53 - format.significant_bits;
  result = std::bit_cast<double>((static_cast<std::uint64_t>(unit - room + 1074) << 52) + (rounded << room));
  return true;
}

// Rounds significand * 2^exponent to the nearest value of `format`. With `more` the number is larger by less than one
// unit.
double round(u128 significand, bool more, int exponent, const Format& format) {
  if (significand == 0) return 0.0;
  const int top = exponent + bit_width(significand) - 1;
  int unit = top - (format.significant_bits - 1);
  if (unit < format.least_exponent) unit = format.least_exponent;
  const int shift = unit - exponent;
  std::uint64_t rounded;
  if (shift <= 0) {
    rounded = static_cast<std::uint64_t>(significand << -shift);
  } else if (shift > 128) {
    rounded = 0;  // less than half of the smallest value
  } else {
    const u128 half = u128{1} << (shift - 1);
    rounded = static_cast<std::uint64_t>(significand >> (shift - 1) >> 1);
    const u128 rest = significand & (half | (half - 1));
    if (rest > half || (rest == half && (more || (rounded & 1) != 0))) ++rounded;
  }
  if (rounded == 0) return 0.0;
  if (unit + static_cast<int>(std::bit_width(rounded)) - 1 > format.greatest_exponent) {
    return std::numeric_limits<double>::infinity();
  }
  // Converts to binary64, which holds every format. The bits are aligned to the left, as far as subnormals allow.
  const int room = std::min(std::countl_zero(rounded) - 11, unit - kBinary64.least_exponent);
  if (room > 0) {
    rounded <<= room;
    unit -= room;
  }
  if (rounded >> 53 != 0) {  // exactly 2^53
    rounded >>= 1;
    ++unit;
  }
  const std::uint64_t biased = rounded >> 52 != 0 ? static_cast<std::uint64_t>(unit + 1075) : 0;
  return std::bit_cast<double>(biased << 52 | (rounded & ((std::uint64_t{1} << 52) - 1)));
}

// 1 / sqrt(x) * 2^15 at the middle of each interval of length 1/512 in [1/4, 1).
constexpr int kInverseRootsBegin = 128;
constexpr auto kInverseRoots = [] {
  std::array<std::uint16_t, 512 - kInverseRootsBegin> table{};
  for (std::uint64_t i = 0, y = 1 << 16; i < table.size(); ++i) {
    while (y * y * (2 * (i + kInverseRootsBegin) + 1) > std::uint64_t{1} << 40) --y;
    table[i] = static_cast<std::uint16_t>(y);
  }
  return table;
}();

constexpr std::uint64_t high_half(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::uint64_t>(static_cast<u128>(a) * b >> 64);
}

// 2^63 sqrt(x / 2^64), up to a few units, for x from 2^62 on. Newton's iteration for 1 / sqrt(x) gives 9, 17 and 34
// bits. One more iteration, for the root itself, gives the rest. There is no division. It uses integers, because the
// floating-point unit would raise exceptions that the caller may trap.
std::uint64_t near_root(std::uint64_t x) {
  // y is 1 / sqrt(x), and the next y is y * (3 - x * y^2) / 2.
  const std::uint64_t y0 = kInverseRoots[(x >> 55) - kInverseRootsBegin];                          // times 2^15
  const std::uint64_t y1 = y0 * (((std::uint64_t{3} << 62) - (x >> 32) * (y0 * y0)) >> 30) >> 18;  // times 2^30
  const std::uint64_t three_less = (std::uint64_t{3} << 60) - high_half(x, y1 * y1);
  const std::uint64_t y2 = high_half(y1 << 32, three_less << 2);  // times 2^61
  const std::uint64_t root = high_half(x, y2);                    // times 2^61
  const auto squares_differ = static_cast<i128>((static_cast<u128>(x) << 58) - static_cast<u128>(root) * root);
  const auto left = static_cast<std::int64_t>(squares_differ >> 58);
  return (root << 2) + static_cast<std::uint64_t>(static_cast<i128>(left) * y2 >> 63);
}

// The integer roots of 0, 256, 512, ... The root of a number between two of them is the lower root, or one more.
constexpr auto kRoots = [] {
  std::array<std::uint8_t, 256> roots{};
  for (unsigned i = 0, root = 0; i < roots.size(); ++i) {
    while ((root + 1) * (root + 1) <= i << 8) ++root;
    roots[i] = static_cast<std::uint8_t>(root);
  }
  return roots;
}();

// The integer root of a number of 2 * `kBits` bits, and the remainder. One of the first two bits must be set. This is
// Zimmermann's square root (INRIA RR-3805): the root of the upper half, then one division for the lower half of the
// root. It uses integers, because a floating-point estimate would raise exceptions that the caller may trap.
struct Root {
  std::uint64_t root;
  u128 rest;
};
template <int kBits>
Root integer_root(u128 number) {
  if constexpr (kBits == 8) {
    const auto short_number = static_cast<std::uint64_t>(number);
    std::uint64_t root = kRoots[short_number >> 8];
    root += (root + 1) * (root + 1) <= short_number ? 1 : 0;
    return {root, short_number - root * root};
  } else {
    constexpr int kHalf = kBits / 2;
    constexpr std::uint64_t kDigit = (std::uint64_t{1} << kHalf) - 1;
    const Root upper = integer_root<kHalf>(number >> kBits);
    const auto next = static_cast<std::uint64_t>(number >> kHalf) & kDigit;
    // (rest * 2^kHalf + next) / (2 * root). This may need one bit more than there is, so both are halved first.
    const std::uint64_t half = static_cast<std::uint64_t>(upper.rest) << (kHalf - 1) | next >> 1;
    const std::uint64_t quotient = half / upper.root;
    const std::uint64_t remainder = (half - quotient * upper.root) << 1 | (next & 1);
    i128 root = (static_cast<i128>(upper.root) << kHalf) + quotient;
    i128 rest = (static_cast<i128>(remainder) << kHalf) +
                static_cast<i128>(static_cast<std::uint64_t>(number) & kDigit) -
                static_cast<i128>(static_cast<u128>(quotient) * quotient);
    const i128 one_too_many = rest >> 127;  // no branch: both cases are frequent
    rest += (2 * root - 1) & one_too_many;
    root += one_too_many;
    return {static_cast<std::uint64_t>(root), static_cast<u128>(rest)};
  }
}

double root_of(Leading leading, const Format& format) {
  // The first 127 or 128 bits, so that the exponent is even. Their integer root has 64 bits.
  if (leading.bits == 0) return 0.0;
  if (leading.exponent % 2 != 0) {
    leading.more = leading.more || (leading.bits & 1) != 0;
    leading.bits >>= 1;
    ++leading.exponent;
  }
  const Root root = integer_root<64>(leading.bits);
  return round(root.root, leading.more || root.rest != 0, leading.exponent / 2, format);
}

// A number from 1 to below 2 in units of 2^-255, as digits of 64 bits, least first.
using Fixed = std::array<std::uint64_t, 4>;

// The first bits of a quotient that is from 1 to below 2.
Fixed quotient(u128 dividend, std::uint64_t divisor) {
  Fixed result{};
  for (std::size_t bit = 256; bit-- != 0; dividend <<= 1) {
    if (dividend < divisor) continue;
    dividend -= divisor;
    result[bit / 64] |= std::uint64_t{1} << bit % 64;
  }
  return result;
}

// Squares the number. If the square is 2 or more, halves it. Returns whether it halved.
bool square(Fixed& x) {
  std::array<std::uint64_t, 8> product{};
  for (std::size_t i = 0; i < x.size(); ++i) {
    u128 carry = 0;
    for (std::size_t k = 0; k < x.size(); ++k) {
      carry += static_cast<u128>(x[i]) * x[k] + product[i + k];
      product[i + k] = static_cast<std::uint64_t>(carry);
      carry >>= 64;
    }
    product[i + x.size()] = static_cast<std::uint64_t>(carry);
  }
  const bool halved = product.back() >> 63 != 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = halved ? product[i + 4] : product[i + 4] << 1 | product[i + 3] >> 63;
  }
  return halved;
}

}  // namespace

double round_quotient(const Exact& exact, std::uint64_t divisor, const Format& format) {
  if (Near near; near_of(exact, near)) {
    // One division of 128 bits by 64 bits. The quotient has 63 or 64 bits.
    const int shift = std::countl_zero(divisor);
    const auto quotient = static_cast<std::uint64_t>((static_cast<u128>(near.bits) << 63) / (divisor << shift));
    if (double result; round_near(quotient, near.exponent + shift - 63, format, result)) {
      return std::bit_cast<double>(std::bit_cast<std::uint64_t>(result) | near.sign);
    }
  }
  // The quotient has at least 64 bits, and `more` says whether anything follows.
  const Leading leading = leading_of(exact);
  if (leading.bits == 0) return 0.0;
  const u128 quotient = leading.bits / divisor;
  const bool more = leading.more || quotient * divisor != leading.bits;
  const double result = round(quotient, more, leading.exponent, format);
  return leading.negative ? -result : result;
}

double round_root(const Exact& exact, const Format& format) {
  if (Near near; near_of(exact, near)) {
    const int odd = near.exponent & 1;
    const std::uint64_t root = near_root(near.bits >> odd);
    if (double result; round_near(root, (near.exponent + odd) / 2 - 31, format, result)) return result;
  }
  return root_of(leading_of(exact), format);
}

double round_root_of_quotient(const Exact& exact, std::uint64_t divisor, const Format& format) {
  Number number;
  read(exact, number);
  extend(number, kRoom);
  const bool more = divide(number, divisor);
  return root_of(leading_of(number, more), format);
}

double round_root_of_ratio(const Exact& exact, const Exact& divisor, const Format& format) {
  Number number, by, quotient;
  read(exact, number);
  read(divisor, by);
  const bool more = divide(number, by, quotient);
  return root_of(leading_of(quotient, more), format);
}

double round_cosine(const Exact& product, const Exact& a, const Exact& b, const Format& format) {
  // The root of product^2 / (a * b).
  Number number, other, above, below, quotient;
  read(product, number);
  const bool is_negative = number.negative;
  multiply(number, std::span(number.digits).first(number.count), above);
  above.exponent = 2 * number.exponent;
  read(a, number);
  read(b, other);
  multiply(number, std::span(other.digits).first(other.count), below);
  below.exponent = number.exponent + other.exponent;
  const bool more = divide(above, below, quotient);
  const double root = root_of(leading_of(quotient, more), format);
  return is_negative ? -root : root;
}

double round_deviation(const Exact& sum, const Exact& squares, std::uint64_t n, const Format& format, Deviation which) {
  Number number, scaled, square;
  read(squares, number);
  const std::uint32_t factor[] = {static_cast<std::uint32_t>(n), static_cast<std::uint32_t>(n >> 32)};
  multiply(number, factor, scaled);
  scaled.exponent = number.exponent;
  read(sum, number);
  multiply(number, std::span(number.digits).first(number.count), square);
  square.exponent = 2 * number.exponent;
  subtract(scaled, square);
  extend(scaled, kRoom);
  const bool more = divide(scaled, n);
  const bool still_more = divide(scaled, n);  // the floor of a floor is the floor of the whole quotient
  const Leading leading = leading_of(scaled, more || still_more);
  if (which == Deviation::kStandard) return root_of(leading, format);
  return round(leading.bits, leading.more, leading.exponent, format);
}

// Computes log2(x) bit by bit. For 1 <= x < 2, the next bit of log2(x) says whether x^2 is 2 or more. Each squaring
// doubles the error of x, which begins at 2^-255. 130 squarings suffice for 66 bits of the logarithm of each quotient
// but powers of two. No other quotient has a rational logarithm, so something always follows these bits.
double round_log2(const Size& dividend, const Size& divisor, const Format& format) {
  const int shift = std::countl_zero(dividend.significand), divisor_shift = std::countl_zero(divisor.significand);
  const std::uint64_t a = dividend.significand << shift, b = divisor.significand << divisor_shift;
  const int whole = dividend.exponent - shift - divisor.exponent + divisor_shift - (a < b ? 1 : 0);
  if (whole < 0) return -round_log2(divisor, dividend, format);
  auto bits = static_cast<u128>(whole);
  if (a == b) return round(bits, false, 0, format);
  int exponent = 0;
  for (Fixed x = quotient(a < b ? static_cast<u128>(a) << 1 : a, b); bit_width(bits) < 66; --exponent) {
    bits = bits << 1 | (square(x) ? 1 : 0);
  }
  return round(bits, true, exponent, format);
}

}  // namespace tensorstat::precision
