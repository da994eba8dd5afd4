#include "precision/round.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

namespace tensorstat::precision {
namespace {

__extension__ using u128 = unsigned __int128;
__extension__ using i128 = __int128;

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

Leading leading_of(const Exact& exact) {
  const auto is_zero = [](std::int64_t word) { return word == 0; };
  std::size_t first = 0, last = exact.words.size();
  while (last != 0 && is_zero(exact.words[last - 1])) --last;
  while (first != last && is_zero(exact.words[first])) ++first;
  if (first == last) return {};

  std::array<std::uint32_t, kMostExactWords + 3> digits;  // least first
  std::size_t count = 0;
  i128 carry = 0;
  for (const std::int64_t word : exact.words.subspan(first, last - first)) {
    carry += word;
    digits[count++] = static_cast<std::uint32_t>(carry);
    carry >>= 32;
  }
  for (; carry != 0 && carry != -1; carry >>= 32) digits[count++] = static_cast<std::uint32_t>(carry);
  Leading result;
  result.negative = carry < 0;
  if (result.negative) {
    // Its complement, with the digit that it takes when all below it are 0.
    digits[count++] = ~std::uint32_t{0};
    std::uint64_t borrow = 1;
    for (std::size_t i = 0; i < count; ++i) {
      borrow += static_cast<std::uint32_t>(~digits[i]);
      digits[i] = static_cast<std::uint32_t>(borrow);
      borrow >>= 32;
    }
  }
  while (count != 0 && digits[count - 1] == 0) --count;
  if (count == 0) return {};  // they cancel

  for (std::size_t i = 1; i <= 4; ++i) result.bits = result.bits << 32 | (i <= count ? digits[count - i] : 0);
  const int shift = std::countl_zero(digits[count - 1]);
  std::size_t below = count < 4 ? 0 : count - 4;
  result.bits <<= shift;
  if (below != 0) {
    const std::uint64_t next = std::uint64_t{digits[--below]} << shift;
    result.bits |= next >> 32;
    result.more = static_cast<std::uint32_t>(next) != 0;
  }
  while (!result.more && below != 0) result.more = digits[--below] != 0;
  result.exponent = exact.exponent + 32 * (static_cast<int>(first + count) - 4) - shift;
  return result;
}

// significand * 2^exponent, plus something below one unit when `more`, to the nearest of `format`.
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
    if (rest < 0) rest += 2 * root-- - 1;
    return {static_cast<std::uint64_t>(root), static_cast<u128>(rest)};
  }
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

double round_root(const Exact& exact, const Format& format) {
  // The leading 127 or 128 bits, cut where the exponent is even: their integer root has 64.
  Leading leading = leading_of(exact);
  if (leading.bits == 0) return 0.0;
  if (leading.exponent % 2 != 0) {
    leading.more = leading.more || (leading.bits & 1) != 0;
    leading.bits >>= 1;
    ++leading.exponent;
  }
  const Root found = integer_root<64>(leading.bits);
  return round(found.root, leading.more || found.rest != 0, leading.exponent / 2, format);
}

}  // namespace tensorstat::precision
