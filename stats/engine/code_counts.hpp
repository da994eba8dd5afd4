// What a byte of a dtype holds that is unpacked before it is looked at (precision/fold/fold_unpacked.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tensorstat {

// Calls visit(byte, k, times) for element number k of each byte of the first `count` elements, of which a byte holds
// `in_a_byte`: bytes are counted first, so that equal ones are one call.
template <typename Visit>
void for_each_in_codes(std::span<const std::byte> bytes, std::uint64_t count, std::uint32_t in_a_byte, const Visit& visit) {
  std::array<std::uint64_t, 256> times{};
  const auto whole = static_cast<std::size_t>(count / in_a_byte);
  for (const std::byte byte : bytes.first(whole)) ++times[std::to_integer<std::size_t>(byte)];
  for (std::uint32_t byte = 0; byte < times.size(); ++byte) {
    for (std::uint32_t k = 0; times[byte] != 0 && k < in_a_byte; ++k) visit(byte, k, times[byte]);
  }
  for (std::uint32_t k = 0; k < count % in_a_byte; ++k) visit(std::to_integer<std::uint32_t>(bytes[whole]), k, std::uint64_t{1});
}

}  // namespace tensorstat
