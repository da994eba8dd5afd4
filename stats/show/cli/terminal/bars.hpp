// The block elements of which terminals have bars.
#pragma once

#include <cstddef>
#include <string_view>

namespace tensorstat::cli {

inline constexpr std::size_t kEighths = 8;

// A bar of this height in one character: 0, a space, to kEighths.
constexpr std::string_view bar(std::size_t eighths) {
  constexpr std::string_view kBars[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  return kBars[eighths];
}

}  // namespace tensorstat::cli
