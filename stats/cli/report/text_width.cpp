#include "stats/cli/report/text_width.hpp"

#include <locale.h>
#include <wchar.h>

#include <algorithm>
#include <map>
#include <vector>

#include "stats/base/utf8.hpp"

namespace tensorstat::cli {
namespace {

// wcwidth() knows Unicode only in a UTF-8 locale. The locale is passed explicitly; that of the process stays.
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
  for (std::size_t at = 0; at < text.size();) {
    const auto [value, bytes] = first_code_point(text.substr(at));
    characters.push_back({at, bytes == 0 ? 1 : columns_of(value)});
    at += bytes == 0 ? 1 : bytes;
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

bool is_inside_character(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

// The length in bytes of the common prefix of all texts, in whole characters. common_end(): of the common suffix, after
// the first `before` bytes.
std::size_t common_beginning(std::span<const std::string_view> texts) {
  std::string_view common = texts.front();
  for (const std::string_view text : texts) {
    std::size_t same = std::ranges::mismatch(common, text).in1 - common.begin();
    while (same < text.size() && is_inside_character(text[same])) --same;
    common = common.substr(0, same);
  }
  return common.size();
}
std::size_t common_end(std::span<const std::string_view> texts, std::size_t before) {
  std::string_view common = texts.front().substr(before);
  for (const std::string_view text : texts) {
    const std::string_view rest = text.substr(before);
    const auto differ = std::mismatch(common.rbegin(), common.rend(), rest.rbegin(), rest.rend()).first;
    common = common.substr(common.rend() - differ);
  }
  while (!common.empty() && is_inside_character(common.front())) common.remove_prefix(1);
  return common.size();
}

// The text, cut so that the bytes [begin, end) stay visible.
std::string elided_around(std::string_view text, std::size_t begin, std::size_t end, std::size_t columns) {
  const std::string_view before = text.substr(0, begin), middle = text.substr(begin, end - begin);
  const std::string_view behind = text.substr(end);
  const std::size_t seen = width(middle);
  if (seen + 2 > columns) {  // keep the ends of the visible part, and the end of the text
    const std::string_view last = last_of(behind, columns / 3);
    const std::size_t marks = 1 + (last.size() < behind.size());
    std::string shown = "…" + elided(middle, columns - std::min(columns, width(last) + marks));
    return shown.append(last.size() < behind.size() ? "…" : "").append(last);
  }
  const std::size_t room = columns - seen, wanted = width(behind);
  const std::size_t room_before = std::min(width(before), std::max(room / 3, room - std::min(room, wanted)));
  const std::size_t room_behind = room - room_before;
  std::string shown;
  if (width(before) <= room_before) {
    shown = before;
  } else if (room_before > 0) {
    shown.append(first_of(before, room_before - 1)).append("…");
  }
  shown += middle;
  if (wanted <= room_behind) return shown += behind;
  return room_behind == 0 ? shown : shown.append("…").append(last_of(behind, room_behind - 1));
}

// Groups of different texts that look the same after the cut, as indices.
std::vector<std::vector<std::size_t>> alike_in(std::span<const std::string_view> texts,
                                               const std::vector<std::string>& cut) {
  std::map<std::string_view, std::vector<std::size_t>> by_look;
  for (std::size_t i = 0; i < cut.size(); ++i) by_look[cut[i]].push_back(i);
  std::vector<std::vector<std::size_t>> groups;
  for (auto& each : by_look) {
    std::vector<std::size_t>& group = each.second;  // no structured binding: clang 14 has none in a lambda
    if (std::ranges::any_of(group, [&](std::size_t i) { return texts[i] != texts[group.front()]; })) {
      groups.push_back(std::move(group));
    }
  }
  return groups;
}

void cut_apart(std::span<const std::string_view> texts, const std::vector<std::size_t>& group, std::size_t columns,
               std::vector<std::string>& cut) {
  std::vector<std::string_view> some;
  for (const std::size_t i : group) some.push_back(texts[i]);
  const std::size_t before = common_beginning(some), behind = common_end(some, before);
  for (const std::size_t i : group) {
    if (width(texts[i]) > columns) cut[i] = elided_around(texts[i], before, texts[i].size() - behind, columns);
  }
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

std::vector<std::string> elided_apart(std::span<const std::string_view> texts, std::size_t columns) {
  std::vector<std::string> cut;
  for (const std::string_view text : texts) cut.push_back(elided(text, columns));
  std::vector<std::vector<std::size_t>> groups = alike_in(texts, cut);
  for (const std::vector<std::size_t>& group : groups) cut_apart(texts, group, columns, cut);
  // A text of one group may now look like one of another group.
  groups = alike_in(texts, cut);
  std::vector<std::size_t> all;
  for (const std::vector<std::size_t>& group : groups) all.insert(all.end(), group.begin(), group.end());
  if (!all.empty()) cut_apart(texts, all, columns, cut);
  return cut;
}

}  // namespace tensorstat::cli
