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

// An exact number's magnitude: `bits`, whose first bit is set, times 2^exponent, plus something below one
// unit when `more`. Zero has no bits.
struct Leading {
  u128 bits = 0;
  int exponent = 0;
  bool more = false;
  bool negative = false;
};

// With `more` where something below the number was cut off.
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

// The same of a sum whose words that are not 0 lie close together, as those of most tensors do; false where they do
// not. Without branches on the data, which cost more than the arithmetic.
bool leading_of_few(const Exact& exact, Leading& result) {
  constexpr std::size_t kFew = 6;
  std::size_t end = exact.words.size();
  while (end > kFew && exact.words[end - 1] == 0) --end;
  if (end < kFew) return false;
  const auto words = exact.words.subspan(end - kFew, kFew);
  std::int64_t below = 0;
  for (const std::int64_t word : exact.words.first(end - kFew)) below |= word;
  if (below != 0) return false;
  // Digits of 64 bits, in two's complement.
  const auto two = [&](std::size_t i) { return words[i] + static_cast<i128>(words[i + 1]) * (i128{1} << 32); };
  const i128 low = two(0), middle = two(2) + (low >> 64), high = two(4) + (middle >> 64);
  const auto sign = static_cast<std::uint64_t>(high >> 127);
  // The complement of a negative one.
  const u128 first = static_cast<u128>(static_cast<std::uint64_t>(low) ^ sign) + (sign & 1);
  const u128 second = static_cast<u128>(static_cast<std::uint64_t>(middle) ^ sign) + (first >> 64);
  const u128 rest = (static_cast<u128>(high) ^ (u128{sign} << 64 | sign)) + (second >> 64);
  std::uint64_t digits[] = {static_cast<std::uint64_t>(rest), static_cast<std::uint64_t>(second),
                            static_cast<std::uint64_t>(first)};
  if (rest >> 64 != 0) return false;
  result.negative = sign != 0;
  result.exponent = exact.exponent + 32 * static_cast<int>(end - kFew) + 64;
  for (int i = 0; i < 2; ++i) {
    const bool is_empty = digits[0] == 0;
    digits[0] = is_empty ? digits[1] : digits[0];
    digits[1] = is_empty ? digits[2] : digits[1];
    digits[2] = is_empty ? 0 : digits[2];
    result.exponent -= is_empty ? 64 : 0;
  }
  if (digits[0] == 0) return true;
  const int shift = std::countl_zero(digits[0]);
  const u128 cut = static_cast<u128>(digits[2]) << shift;
  result.bits = (static_cast<u128>(digits[0]) << 64 | digits[1]) << shift | cut >> 64;
  result.more = static_cast<std::uint64_t>(cut) != 0;
  result.exponent -= shift;
  return true;
}

Leading leading_of(const Exact& exact) {
  Leading result;
  if (leading_of_few(exact, result)) return result;
  Number number;
  read(exact, number);
  return leading_of(number);
}

// bits * 2^exponent, whose first bit is set, plus something below one unit when `more`, to the nearest of `format`;
// false near the ends of its range. Without a branch on whether it is rounded up, which nobody can foretell.
bool round_within(std::uint64_t bits, bool more, int exponent, const Format& format, double& result) {
  const int dropped = 64 - format.significant_bits;
  const int unit = exponent + dropped;
  if (unit < format.least_exponent || exponent + 63 >= format.greatest_exponent) return false;
  const std::uint64_t kept = bits >> dropped;
  const std::uint64_t rest = bits << format.significant_bits | (more ? 1 : 0);
  const std::uint64_t half = std::uint64_t{1} << 63;
  const std::uint64_t rounded = kept + (rest > half - (kept & 1) ? 1 : 0);
  // A binary64, whose implied bit adds 1 to the exponent; and a rounding to the next power of two another.
  const int room = 53 - format.significant_bits;
  result = std::bit_cast<double>((static_cast<std::uint64_t>(unit - room + 1074) << 52) + (rounded << room));
  return true;
}

// significand * 2^exponent, plus something below one unit when `more`, to the nearest of `format`.
double round(u128 significand, bool more, int exponent, const Format& format) {
  if (const int above = bit_width(significand) - 64; above >= 0) {
    const auto bits = static_cast<std::uint64_t>(significand >> above);
    const bool all_more = more || significand != static_cast<u128>(bits) << above;
    if (double result; round_within(bits, all_more, exponent + above, format, result)) return result;
  }
  if (significand == 0) return 0.0;
  const int top = exponent + bit_width(significand) - 1;
  int unit = top - (format.significant_bits - 1);
  if (unit < format.least_exponent) unit = format.least_exponent;
  const int shift = unit - exponent;
  std::uint64_t rounded;
  if (shift <= 0) {
    rounded = static_cast<std::uint64_t>(significand << -shift);
  } else if (shift > 128) {
    rounded = 0;  // below half of the smallest value
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
  // Into binary64, which holds every format: left-aligned as far as its subnormals allow.
  const int room = std::min(std::countl_zero(rounded) - 11, unit - kBinary64.least_exponent);
  if (room > 0) {
    rounded <<= room;
    unit -= room;
  }
  if (rounded >> 53 != 0) {  // 2^53 exactly
    rounded >>= 1;
    ++unit;
  }
  const std::uint64_t biased = rounded >> 52 != 0 ? static_cast<std::uint64_t>(unit + 1075) : 0;
  return std::bit_cast<double>(biased << 52 | (rounded & ((std::uint64_t{1} << 52) - 1)));
}

// The integer roots of 0, 256, 512, ...: that of any number between two is the lower one's, or one more.
constexpr auto kRoots = [] {
  std::array<std::uint8_t, 256> roots{};
  for (unsigned i = 0, root = 0; i < roots.size(); ++i) {
    while ((root + 1) * (root + 1) <= i << 8) ++root;
    roots[i] = static_cast<std::uint8_t>(root);
  }
  return roots;
}();

// The integer root of a number of twice `kBits` bits, of which one of the first two is set, and what is left of
// the number. Zimmermann's square root (INRIA RR-3805): the root of the upper half, then one division for the
// lower half of the root. In integers, as a floating-point estimate would meet the caller's traps.
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
    // (rest * 2^kHalf + next) / (2 * root), which may need a bit more than there is: halved first.
    const std::uint64_t half = static_cast<std::uint64_t>(upper.rest) << (kHalf - 1) | next >> 1;
    const std::uint64_t quotient = half / upper.root;
    const std::uint64_t remainder = (half - quotient * upper.root) << 1 | (next & 1);
    i128 root = (static_cast<i128>(upper.root) << kHalf) + quotient;
    i128 rest = (static_cast<i128>(remainder) << kHalf) + static_cast<i128>(static_cast<std::uint64_t>(number) & kDigit) -
                static_cast<i128>(static_cast<u128>(quotient) * quotient);
    const i128 one_too_many = rest >> 127;  // no branch: it is so as often as not
    rest += (2 * root - 1) & one_too_many;
    root += one_too_many;
    return {static_cast<std::uint64_t>(root), static_cast<u128>(rest)};
  }
}

double root_of(Leading leading, const Format& format) {
  // The leading 127 or 128 bits, cut where the exponent is even: their integer root has 64.
  if (leading.bits == 0) return 0.0;
  if (leading.exponent % 2 != 0) {
    leading.more = leading.more || (leading.bits & 1) != 0;
    leading.bits >>= 1;
    ++leading.exponent;
  }
  const Root found = integer_root<64>(leading.bits);
  return round(found.root, leading.more || found.rest != 0, leading.exponent / 2, format);
}

// From 1 to below 2, in units of 2^-255: digits of 64 bits, least first.
using Fixed = std::array<std::uint64_t, 4>;

// The first bits of a quotient from 1 to below 2.
Fixed quotient(u128 dividend, std::uint64_t divisor) {
  Fixed result{};
  for (std::size_t bit = 256; bit-- != 0; dividend <<= 1) {
    if (dividend < divisor) continue;
    dividend -= divisor;
    result[bit / 64] |= std::uint64_t{1} << bit % 64;
  }
  return result;
}

// Squares, and halves where the square is 2 or more; returns whether it was.
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
  // 128 bits by 64: the quotient has 64 or more, and `more` says whether anything follows.
  const Leading leading = leading_of(exact);
  if (leading.bits == 0) return 0.0;
  const u128 quotient = leading.bits / divisor;
  const bool more = leading.more || quotient * divisor != leading.bits;
  const double result = round(quotient, more, leading.exponent, format);
  return leading.negative ? -result : result;
}

double round_root(const Exact& exact, const Format& format) { return root_of(leading_of(exact), format); }

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
  const bool still_more = divide(scaled, n);  // the floor of a floor is that of the whole quotient
  const Leading leading = leading_of(scaled, more || still_more);
  if (which == Deviation::kStandard) return root_of(leading, format);
  return round(leading.bits, leading.more, leading.exponent, format);
}

// Bit by bit: with 1 <= x < 2, the next bit of log2(x) is whether x^2 is 2 or more. Each square doubles the error of x,
// which begins at 2^-255; 130 of them are enough for 66 bits of the logarithm of any quotient but a power of two. That
// of no other is rational, so that something always follows.
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
