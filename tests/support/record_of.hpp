// Where the records of a serialised partial are, for tests that change its bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace tensorstat {

// The byte where the record of that name begins; the size of `bytes` if there is none. `header` is 16, or 32 for a
// pair.
inline std::size_t record_of(std::span<const std::byte> bytes, std::string_view name, std::size_t header = 16) {
  std::size_t offset = header;
  while (offset < bytes.size()) {
    const auto length = std::to_integer<std::size_t>(bytes[offset]);
    if (std::string_view(reinterpret_cast<const char*>(&bytes[offset + 1]), length) == name) return offset;
    std::size_t payload = 0;
    for (std::size_t i = 0; i < 4; ++i)
      payload |= std::to_integer<std::size_t>(bytes[offset + 1 + length + i]) << (8 * i);
    offset += 1 + length + 4 + payload;
  }
  return bytes.size();
}

// The byte at which its payload begins.
inline std::size_t payload_of(std::span<const std::byte> bytes, std::string_view name, std::size_t header = 16) {
  return record_of(bytes, name, header) + 1 + name.size() + 4;
}

}  // namespace tensorstat
