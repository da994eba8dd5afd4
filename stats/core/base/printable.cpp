#include "stats/core/base/printable.hpp"

#include <cstdint>

#include "stats/core/base/utf8.hpp"

namespace tensorstat {
namespace {

// Characters that control a terminal or are invisible. The joiners U+200C and U+200D are allowed: names in some scripts
// need them.
bool is_escaped(std::uint32_t c) {
  constexpr struct {
    std::uint32_t first, last;
  } kRanges[] = {{0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},     {0x61c, 0x61c},
                 {0x180e, 0x180e}, {0x200b, 0x200b}, {0x200e, 0x200f}, {0x2028, 0x202e},
                 {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f}};
  for (const auto& [first, last] : kRanges) {
    if (c >= first && c <= last) return true;
  }
  return false;
}

void append_escape(std::string& out, std::string_view letter, std::uint32_t value, int digits) {
  out.append(letter);
  for (int i = digits; i-- > 0;) out += "0123456789abcdef"[value >> 4 * i & 0xf];
}

}  // namespace

std::string printable(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  while (!text.empty()) {
    const auto [value, bytes] = first_code_point(text);
    if (bytes == 0) {
      append_escape(safe, "\\x", static_cast<unsigned char>(text[0]), 2);
    } else if (!is_escaped(value)) {
      safe.append(text.substr(0, bytes));
    } else if (value == '\n' || value == '\r' || value == '\t') {
      safe.append(value == '\n' ? "\\n" : value == '\r' ? "\\r" : "\\t");
    } else if (value < 0x80) {
      append_escape(safe, "\\x", value, 2);
    } else {
      append_escape(safe, value > 0xffff ? "\\U" : "\\u", value, value > 0xffff ? 8 : 4);
    }
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return safe;
}

std::string printable_name(std::string_view text) {
  constexpr std::size_t kMost = 1000, kBeginning = 330, kEnd = 667;  // names differ at their ends
  if (text.size() <= kMost) return printable(text);
  // Does not cut inside a character, because half of one would be shown as invalid bytes.
  const auto continues = [&](std::size_t offset) { return (static_cast<unsigned char>(text[offset]) & 0xc0) == 0x80; };
  std::size_t beginning = kBeginning, end = text.size() - kEnd;
  for (int i = 0; i < 3 && continues(beginning); ++i) --beginning;
  for (int i = 0; i < 3 && continues(end); ++i) ++end;
  return printable(text.substr(0, beginning)) + "..." + printable(text.substr(end));
}

std::string shown(std::string_view text, std::size_t most_bytes) {
  if (text.size() <= most_bytes) return printable(text);
  // Do not cut inside a character: its first bytes alone are not UTF-8.
  const auto continues = [&](std::size_t offset) { return (static_cast<unsigned char>(text[offset]) & 0xc0) == 0x80; };
  std::size_t cut = most_bytes;
  while (cut > 0 && most_bytes - cut < 3 && continues(cut)) --cut;
  return printable(text.substr(0, continues(cut) ? most_bytes : cut)) + "...";
}

std::string in_quotes(std::string_view text) { return "'" + shown(text) + "'"; }

}  // namespace tensorstat
