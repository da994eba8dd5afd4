#include "stats/show/cli/terminal/text_width.hpp"

#include <locale.h>
#include <wchar.h>

#include <algorithm>
#include <vector>

#include "stats/core/base/utf8.hpp"

namespace tensorstat::cli {
namespace {

// wcwidth() knows Unicode only in a UTF-8 locale. The locale is passed explicitly; the process keeps its own.
std::size_t columns_of(std::uint32_t character) {
  if (character < 0x80) return 1;
  static const locale_t utf8 = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  if (utf8 == nullptr) return 1;
  const locale_t before = ::uselocale(utf8);
  const int columns = ::wcwidth(static_cast<wchar_t>(character));
  ::uselocale(before);
  return columns < 0 ? 1 : columns;  // -1: a character newer than the C library
}

struct Character {
  std::size_t begin, columns;
};

std::vector<Character> characters_of(std::string_view text) {
  std::vector<Character> characters;
  for (std::size_t offset = 0; offset < text.size();) {
    const auto [value, bytes] = first_code_point(text.substr(offset));
    characters.push_back({offset, bytes == 0 ? 1 : columns_of(value)});
    offset += bytes == 0 ? 1 : bytes;
  }
  return characters;
}

// The first (or last) characters that fit. A combining mark stays with its base character.
std::string_view first_of(std::string_view text, std::size_t columns) {
  std::size_t used = 0;
  for (const Character& each : characters_of(text)) {
    if ((used += each.columns) > columns) return text.substr(0, each.begin);
  }
  return text;
}
std::string_view last_of(std::string_view text, std::size_t columns) {
  const std::vector<Character> characters = characters_of(text);
  std::size_t used = 0, begin = text.size();
  for (std::size_t i = characters.size(); i-- > 0;) {
    if ((used += characters[i].columns) > columns) break;
    if (characters[i].columns > 0) begin = characters[i].begin;
  }
  return text.substr(begin);
}

}  // namespace

std::size_t width(std::string_view text) {
  if (std::ranges::all_of(text, [](char each) { return static_cast<unsigned char>(each) < 0x80; })) return text.size();
  std::size_t columns = 0;
  for (const Character& each : characters_of(text)) columns += each.columns;
  return columns;
}

std::string elided(std::string_view text, std::size_t columns) {
  if (width(text) <= columns) return std::string(text);
  if (columns == 0) return "";
  const std::string_view head = first_of(text, (columns - 1) / 3);
  return std::string(head).append("…").append(last_of(text.substr(head.size()), columns - 1 - width(head)));
}

std::string cut_short(std::string_view text, std::size_t columns) {
  if (width(text) <= columns) return std::string(text);
  return columns == 0 ? "" : std::string(first_of(text, columns - 1)) + "…";
}

std::vector<std::string> wrapped(std::string_view text, std::size_t columns, std::size_t most) {
  std::vector<std::string> lines;
  while (!text.empty() && lines.size() < most) {
    std::size_t end = text.size();
    while (width(text.substr(0, end)) > columns) {
      const std::size_t blank = text.substr(0, end).rfind(' ');
      if (blank == text.npos || blank == 0) return lines.push_back(cut_short(text, columns)), lines;
      end = blank;
    }
    const bool is_last = lines.size() + 1 == most;
    lines.push_back(is_last ? cut_short(text, columns) : std::string(text.substr(0, end)));
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return lines;
}

}  // namespace tensorstat::cli
