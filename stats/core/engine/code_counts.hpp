// Iterates over the elements of dtypes that precision/fold/fold_unpacked.h folds, by the bytes that hold them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tensorstat {

// Calls visit(byte, k, times) for element k of each distinct byte; `times` is the number of such bytes. Visits the
// first `count` elements, `in_a_byte` in each byte. Equal bytes are counted first and cost one call.
template <typename Visit>
void for_each_in_codes(std::span<const std::byte> bytes, std::uint64_t count, std::uint32_t in_a_byte,
                       const Visit& visit) {
  std::array<std::uint64_t, 256> times{};
  const auto whole = static_cast<std::size_t>(count / in_a_byte);
  for (const std::byte byte : bytes.first(whole)) ++times[std::to_integer<std::size_t>(byte)];
  for (std::uint32_t byte = 0; byte < times.size(); ++byte) {
    for (std::uint32_t k = 0; times[byte] != 0 && k < in_a_byte; ++k) visit(byte, k, times[byte]);
  }
  for (std::uint32_t k = 0; k < count % in_a_byte; ++k)
    visit(std::to_integer<std::uint32_t>(bytes[whole]), k, std::uint64_t{1});
}

}  // namespace tensorstat
