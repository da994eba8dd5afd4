// The words of a partial as they are written down, least byte first, and what may be read back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace tensorstat {

// The first eight bytes of a span.
inline void put_word(std::span<std::byte> to, std::uint64_t word) {
  for (std::size_t i = 0; i < 8; ++i) to[i] = static_cast<std::byte>(word >> (8 * i));
}
inline std::uint64_t get_word(std::span<const std::byte> from) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < 8; ++i) word |= static_cast<std::uint64_t>(from[i]) << (8 * i);
  return word;
}

// What half of a word's sum with another may be, so that the sum is a word and can be carried.
inline constexpr std::int64_t kMostOfHalf = (std::int64_t{1} << 62) - (std::int64_t{1} << 32);

// Whether two words that merge by addition fit one. Those of tensors do; bytes that never were a partial may not.
constexpr bool fit_one_word(std::int64_t a, std::int64_t b, std::int64_t most_of_half = kMostOfHalf) {
  const std::int64_t half = a / 2 + b / 2;
  return half <= most_of_half && half >= -most_of_half;
}

}  // namespace tensorstat
