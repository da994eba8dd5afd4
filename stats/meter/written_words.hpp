// The words of serialised partials, little-endian, and the check of words that are read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tensorstat {

// Writes to, and reads from, the first eight bytes of a span.
inline void put_word(std::span<std::byte> to, std::uint64_t word) {
  for (std::size_t i = 0; i < 8; ++i) to[i] = static_cast<std::byte>(word >> (8 * i));
}
inline std::uint64_t get_word(std::span<const std::byte> from) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < 8; ++i) word |= static_cast<std::uint64_t>(from[i]) << (8 * i);
  return word;
}

// The limit of half the sum of two words. Then the sum fits a word, and carries still fit.
inline constexpr std::int64_t kMostOfHalf = (std::int64_t{1} << 62) - (std::int64_t{1} << 32);

// Whether the sum of two words fits a word. Always true for partials of tensors; untrusted bytes may fail.
constexpr bool fit_one_word(std::int64_t a, std::int64_t b, std::int64_t most_of_half = kMostOfHalf) {
  const std::int64_t half = a / 2 + b / 2;
  return half <= most_of_half && half >= -most_of_half;
}

}  // namespace tensorstat
