// Decodes UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tensorstat {

struct CodePoint {
  std::uint32_t value = 0;
  std::size_t bytes = 0;  // 0: not UTF-8
};

// The first character of `text`, which must not be empty. Overlong forms and surrogates are not valid.
CodePoint first_code_point(std::string_view text);

// The text, in which U+FFFD stands for each byte that is not UTF-8. Some files' readers refuse other texts.
std::string as_utf8(std::string_view text);

}  // namespace tensorstat
