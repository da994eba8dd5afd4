// Keys made of several texts and numbers. A text may hold any byte, so its length stands in front of it: two lists of
// parts have one key only if they are equal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tensorstat {

inline void append_key(std::string& key, std::uint64_t number) {
  key.append(reinterpret_cast<const char*>(&number), sizeof number);
}
inline void append_key(std::string& key, std::string_view text) {
  append_key(key, std::uint64_t{text.size()});
  key.append(text);
}

// The key of these texts, in their order.
template <typename... Texts>
std::string joined_key(const Texts&... texts) {
  std::string key;
  (append_key(key, std::string_view(texts)), ...);
  return key;
}

}  // namespace tensorstat
