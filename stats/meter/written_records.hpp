// The records of serialised partials: {1 byte: length of the name, name, 4 bytes: length of the payload, payload},
// little-endian. Names ascend.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stats/base/printable.hpp"
#include "stats/meter/written_words.hpp"

namespace tensorstat {

inline void put_length(std::span<std::byte> to, std::size_t bytes) {
  for (std::size_t i = 0; i < 4; ++i) to[i] = static_cast<std::byte>(bytes >> (8 * i));
}
inline std::size_t get_length(std::span<const std::byte> from) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < 4; ++i) bytes |= std::to_integer<std::size_t>(from[i]) << (8 * i);
  return bytes;
}

struct WrittenRecord {
  std::string_view name;
  std::span<const std::byte> payload;
};

// Why a partial with a record of this name is refused. No accumulator has a name as long as what is shown of it.
inline std::string refusal_of_name(std::string_view name) {
  return "a partial with '" + shown(name, 24) + "', which this version does not know";
}

// Takes the first record from `rest`. nullopt: `rest` ends within it.
inline std::optional<WrittenRecord> take_record(std::span<const std::byte>& rest) {
  if (rest.empty()) return std::nullopt;
  const auto name_bytes = std::to_integer<std::size_t>(rest[0]);
  if (rest.size() < 1 + name_bytes + 4) return std::nullopt;
  const std::string_view name(reinterpret_cast<const char*>(rest.data() + 1), name_bytes);
  const std::size_t bytes = get_length(rest.subspan(1 + name_bytes));
  const auto behind = rest.subspan(1 + name_bytes + 4);
  if (behind.size() < bytes) return std::nullopt;
  rest = behind.subspan(bytes);
  return WrittenRecord{name, behind.first(bytes)};
}

// Appends a record of that many bytes. They are 0 until the caller writes them to the span, which is valid until `to`
// grows.
inline std::span<std::byte> add_record(std::vector<std::byte>& to, std::string_view name, std::size_t bytes) {
  to.push_back(static_cast<std::byte>(name.size()));
  for (const char c : name) to.push_back(static_cast<std::byte>(c));
  to.resize(to.size() + 4 + bytes);
  put_length(std::span(to).last(4 + bytes), bytes);
  return std::span(to).last(bytes);
}

inline void add_record(std::vector<std::byte>& to, std::string_view name, std::span<const std::int64_t> words) {
  const auto payload = add_record(to, name, 8 * words.size());
  for (std::size_t i = 0; i < words.size(); ++i) put_word(payload.subspan(8 * i), static_cast<std::uint64_t>(words[i]));
}

// `payload` has 8 bytes for each word.
inline void get_words(std::span<const std::byte> payload, std::span<std::int64_t> words) {
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = static_cast<std::int64_t>(get_word(payload.subspan(8 * i)));
}

}  // namespace tensorstat
