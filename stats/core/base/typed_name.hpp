// Names as people type them.
#pragma once

#include <algorithm>
#include <string_view>

namespace tensorstat {

// Whether `typed` is `name`; - or _ may stand for a space.
inline bool is_typed_name(std::string_view typed, std::string_view name) {
  return std::ranges::equal(typed, name, [](char character, char known) {
    return character == known || (known == ' ' && (character == '-' || character == '_'));
  });
}

}  // namespace tensorstat
