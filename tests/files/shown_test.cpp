// Messages show any text of a file or its name on one line, without control sequences for a terminal. Printable UTF-8
// is kept.
#include <gtest/gtest.h>

#include <random>
#include <utility>

#include "stats/core/base/printable.hpp"

namespace tensorstat {
namespace shown_test {

TEST(Shown, NamesOfPeopleStayAsTheyAre) {
  for (const char* name :
       {"", "a b~.npy", "Übung/größe.npy", "层/权重.npy", "слой", "می\u200cخواهم", "\U0001f600", "\\n"}) {
    EXPECT_EQ(printable(name), name);
  }
}

TEST(Shown, WhatATerminalActsUponIsEscaped) {
  const std::pair<std::string, const char*> cases[] = {
      {"a\nb\r\t", "a\\nb\\r\\t"},
      {std::string("\0\x1b[2J\x7f", 6), "\\x00\\x1b[2J\\x7f"},
      {"\xc2\x9b", "\\u009b"},                           // CSI in one character
      {"\x9b", "\\x9b"},                                 // and in one byte
      {"\u202egpj.exe\u2066", "\\u202egpj.exe\\u2066"},  // reverses the text after it
      {"\u2028\ufeff\u200b", "\\u2028\\ufeff\\u200b"},
      {"\U000e0041", "\\U000e0041"},
      {"\xc0\xaf", "\\xc0\\xaf"},  // overlong
      {"\xe0\x80\x80", "\\xe0\\x80\\x80"},
      {"\xed\xa0\x80", "\\xed\\xa0\\x80"},           // a surrogate
      {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},  // beyond the last code point
      {"\xe5\xb1", "\\xe5\\xb1"},                    // ends inside a character
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_EQ(printable(text), expected);
    EXPECT_EQ(printable(expected), expected) << "nothing is escaped twice";
  }
}

TEST(Shown, IsCutBetweenCharacters) {
  EXPECT_EQ(shown("abc", 3), "abc");
  EXPECT_EQ(shown("abcd", 3), "abc...");
  EXPECT_EQ(shown("a\u5c42\u5c42", 5), "a\u5c42...");
  EXPECT_EQ(shown(std::string(9, '\x80'), 1), "\\x80...");
}

TEST(Shown, ALongNameLosesItsMiddle) {
  const std::string longest(1000, 'a');
  EXPECT_EQ(printable_name(longest), longest);
  const std::string cut = printable_name("begin" + std::string(40 << 20, 'a') + "end");
  EXPECT_EQ(cut.size(), 1000u);
  EXPECT_TRUE(cut.starts_with("begina") && cut.ends_with("aend") && cut.find("a...a") != cut.npos) << cut;
  for (std::size_t shift = 0; shift < 4; ++shift) {
    std::string name(shift, 'x');
    for (int i = 0; i < 400; ++i) name += "\u5c42";
    EXPECT_EQ(printable_name(name).find('\\'), std::string::npos) << "cut inside a character";
  }
  EXPECT_TRUE(printable_name(std::string(2000, '\x80')).ends_with("\\x80"));
}

TEST(Shown, AnyBytesGiveOneLine) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 10'000; ++round) {
    std::string text(random() % 12, '\0');
    for (char& c : text) c = static_cast<char>(random() % 4 == 0 ? random() : 0x80 | random() % 128);
    const std::string safe = printable(text);
    for (const unsigned char c : safe) ASSERT_TRUE(c >= ' ' && c != 0x7f);
    ASSERT_EQ(printable(safe), safe);
  }
}

}  // namespace shown_test
}  // namespace tensorstat
