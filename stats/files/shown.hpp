// Text out of somebody's file, as it may stand in a message.
#pragma once

#include <string>
#include <string_view>

namespace tensorstat {

// One line of printable ASCII, every other byte as ?; beyond `most_bytes` its beginning and "...".
inline std::string shown(std::string_view text, std::size_t most_bytes = 40) {
  std::string safe;
  for (const char c : text.substr(0, most_bytes)) safe += c >= ' ' && c <= '~' ? c : '?';
  return text.size() > most_bytes ? safe + "..." : safe;
}

}  // namespace tensorstat
