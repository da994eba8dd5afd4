// Regular expressions of ECMAScript that a hostile text cannot make slow.
#pragma once

#include <bitset>
#include <cstdint>
#include <string_view>
#include <tensorstat/status.hpp>
#include <vector>

namespace tensorstat {

// Matching takes time proportional to pattern × text and no recursion, by stepping all states of
// the automaton at once (Thompson 1968); std::regex, which MindSpore uses, backtracks and recurses,
// so that one line of a config can hang or crash a job.
//
// RE2 is no substitute. It reads other things than std::regex into a pattern that both take: [], [^], `.` at CR, \s at
// VT, \a, \A, \z, \C, \p and \Q are not ECMAScript's; it refuses [\b], [[:w:]] and {1001}, and takes (?i) and {,2}.
// And for_escaped_names() needs the sets of bytes that a pattern was compiled to, which RE2 keeps to itself: a
// translation to RE2's syntax would have to do all of the parsing that is done here. kernel_pattern_test holds these
// cases to std::regex.
//
// Understood, on bytes and case-sensitively: literals, . [a-z] [^a-z] [[:alpha:]] \d \D \w \W \s \S
// \b \B ^ $ \t \n \r \f \v \0 \xHH, an escaped character that is no letter or digit, ( ) (?: ) |,
// and * + ? {m} {m,} {m,n} with an optional ? behind. `.` is any byte but LF and CR.
// Refused, with words: back references, look-ahead, \u and \c, patterns over 1,024 bytes, groups
// nested deeper than 64, and repetitions that unfold to more than 10,000 states.
class Pattern {
 public:
  static Result<Pattern> compile(std::string_view text);

  // The same for names as they are in files, where / \ . and space have become _: whatever matched
  // one of those matches _ too.
  Pattern for_escaped_names() const;

  // Whether the whole text matches.
  bool matches(std::string_view text) const;

 private:
  friend class PatternCompiler;
  enum class Op : std::uint8_t { kSet, kFork, kJump, kBegin, kEnd, kBorder, kNoBorder, kMatch };
  struct State {
    Op op;
    std::uint32_t set = 0;         // kSet: an index into sets_
    std::uint32_t to[2] = {0, 0};  // kFork: both; kJump: the first
  };
  using Set = std::bitset<256>;

  std::vector<State> states_;
  std::vector<Set> sets_;
};

}  // namespace tensorstat
