// Whole numbers with as many digits as a sum. They are read, multiplied, subtracted and divided without an allocation.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "precision/round.hpp"

namespace tensorstat::precision {

__extension__ using u128 = unsigned __int128;
__extension__ using i128 = __int128;

// A whole number times 2^exponent: its magnitude as 32-bit digits, least first. The last digit is not 0.
struct Number {
  // For the product of two sums of squares, some words for carries, and kRoom.
  std::array<std::uint32_t, 2 * kMostExactWords + 24> digits;
  std::size_t count = 0;
  int exponent = 0;
  bool negative = false;

  void trim() {
    while (count != 0 && digits[count - 1] == 0) --count;
  }
};

// The digits that are appended below a number before it is divided by up to 2^128. So the quotient has more than 128
// bits.
inline constexpr std::size_t kRoom = 8;

// Reads an exact number into `result`, which may be uninitialised. Most of its digits are not written.
inline void read(const Exact& exact, Number& result) {
  const auto is_zero = [](std::int64_t word) { return word == 0; };
  std::size_t first = 0, last = exact.words.size();
  while (last != 0 && is_zero(exact.words[last - 1])) --last;
  while (first != last && is_zero(exact.words[first])) ++first;
  result.count = 0;
  result.negative = false;
  if (first == last) return;

  auto& digits = result.digits;
  std::size_t count = 0;
  i128 carry = 0;
  for (const std::int64_t word : exact.words.subspan(first, last - first)) {
    carry += word;
    digits[count++] = static_cast<std::uint32_t>(carry);
    carry >>= 32;
  }
  for (; carry != 0 && carry != -1; carry >>= 32) digits[count++] = static_cast<std::uint32_t>(carry);
  result.negative = carry < 0;
  if (result.negative) {
    // The complement. If all other digits are 0, the carry needs this digit.
    digits[count++] = ~std::uint32_t{0};
    std::uint64_t borrow = 1;
    for (std::size_t i = 0; i < count; ++i) {
      borrow += static_cast<std::uint32_t>(~digits[i]);
      digits[i] = static_cast<std::uint32_t>(borrow);
      borrow >>= 32;
    }
  }
  result.count = count;
  result.exponent = exact.exponent + 32 * static_cast<int>(first);
  result.trim();  // no digits are left if they cancel
}

// The product of two magnitudes.
inline void multiply(const Number& a, std::span<const std::uint32_t> b, Number& product) {
  std::fill_n(product.digits.begin(), a.count + b.size(), 0u);
  for (std::size_t i = 0; i < a.count; ++i) {
    std::uint64_t carry = 0;
    for (std::size_t k = 0; k < b.size(); ++k) {
      carry += std::uint64_t{a.digits[i]} * b[k] + product.digits[i + k];
      product.digits[i + k] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    product.digits[i + b.size()] = static_cast<std::uint32_t>(carry);
  }
  product.count = a.count + b.size();
  product.trim();
}

// Appends `count` digits of 0 below. There is always room (Number), which GCC 14 cannot see: it warns of the copy where
// the size is not compared.
inline void extend(Number& number, std::size_t count) {
  if (number.count == 0 || count > number.digits.size() || number.count > number.digits.size() - count) return;
  std::copy_backward(number.digits.begin(), number.digits.begin() + static_cast<std::ptrdiff_t>(number.count),
                     number.digits.begin() + static_cast<std::ptrdiff_t>(number.count + count));
  std::fill_n(number.digits.begin(), count, 0u);
  number.count += count;
  number.exponent -= 32 * static_cast<int>(count);
}

// a - b, for magnitudes. No value if b is larger.
inline void subtract(Number& a, Number& b) {
  if (b.count == 0) return;
  if (a.exponent > b.exponent) extend(a, static_cast<std::size_t>(a.exponent - b.exponent) / 32);
  if (b.exponent > a.exponent) extend(b, static_cast<std::size_t>(b.exponent - a.exponent) / 32);
  std::int64_t borrow = 0;
  for (std::size_t i = 0; i < std::max(a.count, b.count); ++i) {
    borrow += (i < a.count ? std::int64_t{a.digits[i]} : 0) - (i < b.count ? std::int64_t{b.digits[i]} : 0);
    a.digits[i] = static_cast<std::uint32_t>(borrow);
    borrow >>= 32;
  }
  a.count = borrow < 0 ? 0 : std::max(a.count, b.count);
  a.trim();
}

// Divides, and returns whether there was a remainder.
inline bool divide(Number& number, std::uint64_t divisor) {
  u128 rest = 0;
  for (std::size_t i = number.count; i-- != 0;) {
    rest = rest << 32 | number.digits[i];
    if (rest >> 64 == 0) {  // a division of 128 bits is slow
      number.digits[i] = static_cast<std::uint32_t>(static_cast<std::uint64_t>(rest) / divisor);
      rest = static_cast<std::uint64_t>(rest) % divisor;
    } else {
      number.digits[i] = static_cast<std::uint32_t>(rest / divisor);
      rest %= divisor;
    }
  }
  number.trim();
  return rest != 0;
}

// Multiplies by 2^bits, with bits below 32. The result has one more digit, which may be 0.
inline void shift_up(Number& number, int bits) {
  std::uint64_t carry = 0;
  for (std::size_t i = 0; i < number.count; ++i) {
    carry |= std::uint64_t{number.digits[i]} << bits;
    number.digits[i] = static_cast<std::uint32_t>(carry);
    carry >>= 32;
  }
  number.digits[number.count++] = static_cast<std::uint32_t>(carry);
}

// The quotient of two magnitudes, and whether there is a remainder. Unless it is 0, the quotient has more than 128
// bits. This is long division (Knuth, The Art of Computer Programming, volume 2, 4.3.1, algorithm D). The divisor is
// not 0. Both arguments are destroyed.
inline bool divide(Number& number, Number& divisor, Number& quotient) {
  quotient.count = 0;
  if (number.count == 0) return false;
  const std::size_t size = divisor.count;
  if (number.count < size + kRoom) extend(number, size + kRoom - number.count);
  quotient.exponent = number.exponent - divisor.exponent;
  const int shift = std::countl_zero(divisor.digits[size - 1]);
  shift_up(number, shift);
  shift_up(divisor, shift);
  const std::uint64_t first = divisor.digits[size - 1], second = size > 1 ? divisor.digits[size - 2] : 0;
  quotient.count = number.count - size;
  for (std::size_t position = quotient.count; position-- != 0;) {
    const auto digits = std::span(number.digits).subspan(position, size + 1);
    const std::uint64_t top = std::uint64_t{digits[size]} << 32 | digits[size - 1];
    const std::uint64_t third = size > 1 ? digits[size - 2] : 0;
    std::uint64_t digit = top / first, rest = top % first;
    while (rest >> 32 == 0 && (digit >> 32 != 0 || digit * second > (rest << 32 | third))) {
      --digit;
      rest += first;
    }
    std::uint64_t carry = 0;
    std::int64_t borrow = 0;
    for (std::size_t i = 0; i <= size; ++i) {
      carry += i < size ? digit * divisor.digits[i] : 0;
      borrow += std::int64_t{digits[i]} - static_cast<std::uint32_t>(carry);
      digits[i] = static_cast<std::uint32_t>(borrow);
      carry >>= 32;
      borrow >>= 32;
    }
    if (borrow < 0) {  // the digit was one too large
      --digit;
      borrow = 0;
      for (std::size_t i = 0; i <= size; ++i) {
        borrow += std::int64_t{digits[i]} + (i < size ? divisor.digits[i] : 0);
        digits[i] = static_cast<std::uint32_t>(borrow);
        borrow >>= 32;
      }
    }
    quotient.digits[position] = static_cast<std::uint32_t>(digit);
  }
  quotient.trim();
  return std::any_of(number.digits.begin(), number.digits.begin() + static_cast<std::ptrdiff_t>(size),
                     [](std::uint32_t digit) { return digit != 0; });
}

}  // namespace tensorstat::precision
