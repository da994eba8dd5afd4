// Characters of UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tensorstat {

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t bytes = 0;  // 0: not UTF-8
};

// What `text`, which is not empty, begins with. Overlong forms and surrogates are not UTF-8.
CodePoint first_code_point(std::string_view text);

}  // namespace tensorstat
