#include "precision/round.hpp"

#include <bit>
#include <limits>
#include <vector>

namespace tensorstat::precision {
namespace {

__extension__ using u128 = unsigned __int128;

int bit_width(u128 value) {
  const auto high = static_cast<std::uint64_t>(value >> 64);
  return high != 0 ? 64 + std::bit_width(high) : std::bit_width(static_cast<std::uint64_t>(value));
}

// The magnitude of an exact number as 32-bit digits, least first, no leading zeros.
struct Magnitude {
  std::vector<std::uint32_t> digits;
  bool negative = false;
};

Magnitude magnitude_of(const Exact& exact) {
  Magnitude result;
  result.digits.reserve(exact.words.size() + 3);
  std::int64_t carry = 0;
  // A word and its carry from below fit 64 bits: each is at most 2^63 / 2^32 away from the last.
  for (const std::int64_t word : exact.words) {
    const std::int64_t low = (word & 0xffffffff) + (carry & 0xffffffff);
    result.digits.push_back(static_cast<std::uint32_t>(low));
    carry = (word >> 32) + (carry >> 32) + (low >> 32);
  }
  for (int i = 0; i < 3; ++i, carry >>= 32) result.digits.push_back(static_cast<std::uint32_t>(carry));
  result.negative = carry < 0;
  if (result.negative) {
    std::uint64_t borrow = 1;
    for (std::uint32_t& digit : result.digits) {
      borrow += static_cast<std::uint32_t>(~digit);
      digit = static_cast<std::uint32_t>(borrow);
      borrow >>= 32;
    }
  }
  while (!result.digits.empty() && result.digits.back() == 0) result.digits.pop_back();
  return result;
}

bool any_digit_below(const std::vector<std::uint32_t>& digits, std::ptrdiff_t end) {
  for (std::ptrdiff_t i = 0; i < end; ++i) {
    if (digits[static_cast<std::size_t>(i)] != 0) return true;
  }
  return false;
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
  } else if (shift > 127) {
    rounded = 0;  // far below half of the smallest value
  } else {
    rounded = static_cast<std::uint64_t>(significand >> shift);
    const u128 rest = significand & ((u128{1} << shift) - 1);
    const u128 half = u128{1} << (shift - 1);
    if (rest > half || (rest == half && (more || (rounded & 1) != 0))) ++rounded;
  }
  if (rounded == 0) return 0.0;
  if (unit + static_cast<int>(std::bit_width(rounded)) - 1 > format.greatest_exponent) {
    return std::numeric_limits<double>::infinity();
  }
  // Into binary64, which holds every format: left-aligned as far as its subnormals allow.
  while (unit > kBinary64.least_exponent && rounded < (std::uint64_t{1} << 52)) {
    rounded <<= 1;
    --unit;
  }
  if (rounded >> 53 != 0) {  // 2^53 exactly
    rounded >>= 1;
    ++unit;
  }
  const std::uint64_t biased = rounded >> 52 != 0 ? static_cast<std::uint64_t>(unit + 1075) : 0;
  return std::bit_cast<double>(biased << 52 | (rounded & ((std::uint64_t{1} << 52) - 1)));
}

// Bit by bit: once a tensor, and a floating-point estimate would meet the caller's traps.
std::uint64_t integer_root(u128 value) {
  std::uint64_t root = 0;
  for (int bit = 63; bit >= 0; --bit) {
    const std::uint64_t tried = root | std::uint64_t{1} << bit;
    if (static_cast<u128>(tried) * tried <= value) root = tried;
  }
  return root;
}

}  // namespace

double round_quotient(const Exact& exact, std::uint64_t divisor, const Format& format) {
  const Magnitude magnitude = magnitude_of(exact);
  if (magnitude.digits.empty()) return 0.0;
  // Long division from the top, until the quotient holds 65 bits or more: enough for 53, and `more`
  // says whether anything follows.
  u128 quotient = 0, remainder = 0;
  auto place = static_cast<std::ptrdiff_t>(magnitude.digits.size());
  while (bit_width(quotient) <= 64) {
    --place;
    const std::uint32_t digit = place >= 0 ? magnitude.digits[static_cast<std::size_t>(place)] : 0;
    remainder = remainder << 32 | digit;
    quotient = quotient << 32 | remainder / divisor;
    remainder %= divisor;
  }
  const bool more = remainder != 0 || any_digit_below(magnitude.digits, place);
  const double result = round(quotient, more, exact.exponent + 32 * static_cast<int>(place), format);
  return magnitude.negative ? -result : result;
}

double round_root(const Exact& exact, const Format& format) {
  const Magnitude magnitude = magnitude_of(exact);
  if (magnitude.digits.empty()) return 0.0;
  // The leading 127 or 128 bits, cut where the exponent is even: their integer root holds 64 bits.
  const auto digit = [&](std::ptrdiff_t i) -> u128 {
    return i >= 0 ? magnitude.digits[static_cast<std::size_t>(i)] : 0;
  };
  const auto place = static_cast<std::ptrdiff_t>(magnitude.digits.size()) - 4;
  u128 leading = digit(place + 3) << 96 | digit(place + 2) << 64 | digit(place + 1) << 32 | digit(place);
  int exponent = exact.exponent + 32 * static_cast<int>(place);
  int shift = std::countl_zero(magnitude.digits.back());
  if ((exponent - shift) % 2 != 0) --shift;
  bool more;
  if (shift >= 0) {
    const u128 next = digit(place - 1) << shift;
    leading = leading << shift | next >> 32;
    more = static_cast<std::uint32_t>(next) != 0 || any_digit_below(magnitude.digits, place - 1);
  } else {
    more = (leading & 1) != 0 || any_digit_below(magnitude.digits, place);
    leading >>= 1;
  }
  exponent -= shift;
  const std::uint64_t root = integer_root(leading);
  more = more || static_cast<u128>(root) * root != leading;
  return round(root, more, exponent / 2, format);
}

}  // namespace tensorstat::precision
