// Every code point is read back from its UTF-8, whatever follows. Overlong forms, surrogates, cut and stray bytes are
// refused.
#include "stats/core/base/utf8.hpp"

#include <gtest/gtest.h>

#include <string>

namespace tensorstat {
namespace utf8_test {

std::string with_bytes(std::uint32_t value, int bytes) {
  if (bytes == 1) return {static_cast<char>(value)};
  std::string text;
  for (int i = bytes - 1; i > 0; --i) text += static_cast<char>(0x80 | (value >> (6 * (bytes - 1 - i)) & 0x3f));
  text += static_cast<char>((0xf00 >> bytes & 0xff) | value >> (6 * (bytes - 1)));
  return {text.rbegin(), text.rend()};
}

int bytes_for(std::uint32_t value) { return value < 0x80 ? 1 : value < 0x800 ? 2 : value < 0x10000 ? 3 : 4; }

TEST(Utf8, ReadsEveryCodePoint) {
  for (std::uint32_t value = 0; value <= 0x10ffff; ++value) {
    const bool is_surrogate = value >= 0xd800 && value <= 0xdfff;
    const int bytes = bytes_for(value);
    const CodePoint read = first_code_point(with_bytes(value, bytes) + "a");
    const std::size_t expected = is_surrogate ? 0 : static_cast<std::size_t>(bytes);
    if (read.bytes != expected || (!is_surrogate && read.value != value)) FAIL() << std::hex << value;
  }
}

TEST(Utf8, RefusesOverlongForms) {
  for (const std::uint32_t value : {0u, 0x7fu, 0x80u, 0x7ffu, 0x800u, 0xffffu}) {
    for (int bytes = bytes_for(value) + 1; bytes <= 4; ++bytes) {
      EXPECT_EQ(first_code_point(with_bytes(value, bytes)).bytes, 0u) << std::hex << value << " in " << bytes;
    }
  }
}

TEST(Utf8, RefusesCutAndStrayBytes) {
  for (const std::uint32_t value : {0x80u, 0x800u, 0x10000u, 0x10ffffu}) {
    const std::string whole = with_bytes(value, bytes_for(value));
    for (std::size_t size = 1; size < whole.size(); ++size) {
      EXPECT_EQ(first_code_point(std::string_view(whole).substr(0, size)).bytes, 0u) << std::hex << value;
      for (const char other : {'a', '\xc2'}) {
        std::string wrong = whole;
        wrong[size] = other;
        EXPECT_EQ(first_code_point(wrong).bytes, 0u) << std::hex << value;
      }
    }
  }
  for (int lead = 0x80; lead < 0x100; ++lead) {
    const bool is_lead = lead >= 0xc2 && lead <= 0xf4;
    const std::string text = static_cast<char>(lead) + std::string(lead == 0xe0   ? "\xa0\x80"
                                                                   : lead == 0xf0 ? "\x90\x80\x80"
                                                                                  : "\x80\x80\x80");
    EXPECT_EQ(first_code_point(text).bytes != 0, is_lead) << std::hex << lead;
  }
}

}  // namespace utf8_test
}  // namespace tensorstat
