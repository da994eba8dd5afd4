// Our regular expressions match the same texts as std::regex, and no text makes them slow.
#include <gtest/gtest.h>

#include <random>
#include <stdexcept>
#include <string>

#include "stats/data/text/regex.hpp"
#include "tests/support/patterns.hpp"

namespace tensorstat {
namespace kernel_pattern_test {

std::optional<bool> theirs(const std::string& pattern, const std::string& text) try {
  return test::matches(text, pattern);
} catch (const std::runtime_error&) {  // std::regex_error
  return std::nullopt;
}

std::optional<bool> ours(const std::string& pattern, const std::string& text) {
  const auto compiled = Regex::compile(pattern);
  if (!compiled) return std::nullopt;
  return compiled->matches(text);
}

TEST(KernelPattern, AgreesWithStdRegexOnWrittenCases) {
  const char* patterns[] = {"",
                            "a",
                            "ab*c",
                            "a|b|cd",
                            "(a|b)*c",
                            "(?:ab)+",
                            "a{2}",
                            "a{2,}",
                            "a{0,2}b",
                            "[a-c]+",
                            "[^a]*",
                            "[]a]",
                            "[a-]+",
                            "[-a]+",
                            "\\d+",
                            "\\w*\\s?",
                            "^a$",
                            "a^b",
                            ".*\\bop.*",
                            ".*\\Bop.*",
                            "\\.",
                            "\\x61b",
                            "[[:alpha:]]*",
                            "(a*)*",
                            "(a|ab)(c|bcd)(d*)",
                            "((a)|(b)|())+",
                            "a??b",
                            "a+?b",
                            "[\\d_]+",
                            "x*(a|b)y*|z",
                            "(x+x+)+y",
                            "\\W",
                            "[^\\n]",
                            "a.c",
                            "(|a)b",
                            "a{3,1}",
                            "*a",

                            "(a",
                            "a)",
                            "[b-a]",
                            "[a"};
  const char* texts[] = {"",    "a",    "b",  "ab",  "abc", "abbbc", "cd",    "aab",   "aa", "aaa",
                         "-a-", "]",    "12", "a_1", "a b", "op",    "x-op1", "xop",   ".",  "abcd",
                         "ac",  "a\nc", "\n", "y",   "xxa", "xay",   "z",     "xxxxy", "_",  "-"};
  int compared = 0;
  for (const char* pattern : patterns) {
    for (const char* text : texts) {
      const auto expected = theirs(pattern, text);
      EXPECT_EQ(ours(pattern, text), expected) << pattern << " on \"" << text << '"';
      compared += expected.has_value();
    }
  }
  EXPECT_GT(compared, 1000);
}

TEST(KernelPattern, AgreesWithStdRegexOnRandomCases) {
  const unsigned seed = 20261120;  // fixed, because std::regex does not terminate for some patterns
  std::mt19937 random(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  const char* pieces[] = {"a",   "b",     "-",    ".",    "(",   ")",   "(?:", "|", "*", "+", "?",
                          "{2}", "{1,2}", "[ab]", "[^a]", "\\w", "\\b", "^",   "$", "a", "b"};
  int compared = 0, matched = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string pattern, text;
    for (auto i = random() % 9; i > 0; --i) pattern += pieces[random() % std::size(pieces)];
    for (auto i = random() % 7; i > 0; --i) text += "ab-"[random() % 3];
    const auto expected = theirs(pattern, text);
    const auto got = ours(pattern, text);
    if (!expected || !got) continue;  // another test compares which patterns are refused
    ++compared;
    matched += *expected;
    ASSERT_EQ(got, expected) << pattern << " on \"" << text << '"';
  }
  EXPECT_GT(compared, 2000);
  EXPECT_GT(matched, 200);
}

// Patterns that other syntaxes, such as RE2's, refuse or read differently.
TEST(KernelPattern, IsEcmaScriptAndNoOtherSyntax) {
  const char* patterns[] = {"[]a]",    "[^]a]",   "[]",     "[^]",      "a.c",     ".",
                            "\\s",     "[\\b]",   "\\v",    "\\f",      "\\0",     "a{1001}",
                            "[[:w:]]", "[[:d:]]", "[\\w-]", "[a-z&&b]", "\\_",     "\\-",
                            "[^\\n]",  "a$b",     "a^b",    "(?:a$)",   "[[:s:]]", "[[:alpha:][:digit:]]+"};
  const std::string texts[] = {"",
                               "a",
                               "b",
                               "]",
                               "a]",
                               "a\nc",
                               "a\rc",
                               "\n",
                               "\r",
                               "\v",
                               "\f",
                               "\b",
                               "ab",
                               "_",
                               "-",
                               "0",
                               "&",
                               "\xe9",
                               "\xff",
                               "a0",
                               "w",
                               std::string(1, '\0'),
                               std::string(1001, 'a')};
  for (const char* pattern : patterns) {
    for (const std::string& text : texts) {
      const auto expected = theirs(pattern, text);
      ASSERT_TRUE(expected) << pattern;
      EXPECT_EQ(ours(pattern, text), expected) << pattern << " on \"" << text.substr(0, 8) << '"';
    }
  }
  for (const char* pattern :
       {"(?i)a", "(?P<x>a)", "a{,2}", "{", "a{", "[[:word:]]", "\\x{61}", "\\A", "\\z", "\\Qa\\E"}) {
    EXPECT_EQ(ours(pattern, "a"), std::nullopt) << pattern;
  }
}

TEST(KernelPattern, HostileTextsEndSoon) {
  const std::string long_text(20000, 'x');
  for (const char* pattern : {"(x+x+)+y", "(x*)*y", "((x?){30}){30}y", "(x|x|x)*y", "(.*)(.*)(.*)y"}) {
    EXPECT_EQ(ours(pattern, long_text), false) << pattern;
    EXPECT_EQ(ours(pattern, long_text + "y").has_value(), true) << pattern;
  }
}

TEST(KernelPattern, RefusesWithWords) {
  const struct {
    std::string pattern;
    const char* word;
  } cases[] = {{std::string(1025, 'a'), "1024"},
               {std::string(100, '('), "64"},
               {"((a{100}){100}){100}", "10000"},
               {"a{99999999999999999999}", "10000"},
               {"(a)\\1", "back"},
               {"(?=a)", "look-ahead"},
               {"\\q", "\\q"},
               {"a{1", "{ }"},
               {"[[:foo:]]", "[: :]"},
               {"a\\", "too early"},
               {"[", "too early"},
               {"\\b*", "repeated"},
               {"\\xg0", "hexadecimal"}};
  for (const auto& one : cases) {
    const auto compiled = Regex::compile(one.pattern);
    ASSERT_FALSE(compiled) << one.pattern.substr(0, 30);
    EXPECT_NE(compiled.error().message.find(one.word), std::string::npos) << compiled.error().message;
  }
}

}  // namespace kernel_pattern_test
}  // namespace tensorstat
