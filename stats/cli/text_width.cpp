#include "stats/cli/text_width.hpp"

#include <locale.h>
#include <wchar.h>

#include <vector>

#include "stats/files/utf8.hpp"

namespace tensorstat::cli {
namespace {

// The C library knows the widths of Unicode, in a locale of UTF-8 only. The process stays in its own.
std::size_t columns_of(std::uint32_t character) {
  if (character < 0x80) return 1;
  static const locale_t utf8 = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  if (utf8 == nullptr) return 1;
  const locale_t before = ::uselocale(utf8);
  const int columns = ::wcwidth(static_cast<wchar_t>(character));
  ::uselocale(before);
  return columns < 0 ? 1 : columns;  // a character younger than the library
}

struct Character {
  std::size_t begin, columns;
};

std::vector<Character> characters_of(std::string_view text) {
  std::vector<Character> characters;
  for (std::size_t at = 0; at < text.size();) {
    const auto [value, bytes] = first_code_point(text.substr(at));
    characters.push_back({at, bytes == 0 ? 1 : columns_of(value)});
    at += bytes == 0 ? 1 : bytes;
  }
  return characters;
}

}  // namespace

std::size_t width(std::string_view text) {
  std::size_t columns = 0;
  for (const Character& each : characters_of(text)) columns += each.columns;
  return columns;
}

std::string elided(std::string_view text, std::size_t columns) {
  if (width(text) <= columns) return std::string(text);
  if (columns == 0) return "";
  const std::vector<Character> characters = characters_of(text);
  const std::size_t room = columns - 1, room_before = room / 3;
  std::size_t used = 0, head = 0, tail = characters.size();
  for (; used + characters[head].columns <= room_before; ++head) used += characters[head].columns;
  while (tail > head && used + characters[tail - 1].columns <= room) used += characters[--tail].columns;
  // A mark is not parted from what it stands upon.
  while (tail < characters.size() && characters[tail].columns == 0) ++tail;
  const std::size_t tail_at = tail < characters.size() ? characters[tail].begin : text.size();
  return std::string(text.substr(0, characters[head].begin)).append("…").append(text.substr(tail_at));
}

}  // namespace tensorstat::cli
