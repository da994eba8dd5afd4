// ECMAScript regular expressions in linear time, for untrusted patterns and texts.
#pragma once

#include <bitset>
#include <cstdint>
#include <string_view>
#include <tensorstat/status.hpp>
#include <vector>

namespace tensorstat {

// Matching takes time proportional to pattern × text and does not recurse: all states of the automaton advance together
// (Thompson 1968). std::regex, which MindSpore uses, backtracks and recurses, so one line of a config can hang or crash
// a job.
//
// RE2 cannot replace it. It reads some patterns differently from std::regex: [], [^], `.` at CR, \s at VT; \a, \A, \z,
// \C, \p and \Q are not ECMAScript. It refuses [\b], [[:w:]] and {1001}, and accepts (?i) and {,2}. for_escaped_names()
// also needs the sets of bytes of the compiled pattern, which RE2 does not expose. kernel_pattern_test compares these
// cases with std::regex.
//
// Supported, on bytes and case-sensitively: literals, . [a-z] [^a-z] [[:alpha:]] \d \D \w \W \s \S \b \B ^ $ \t \n \r
// \f \v \0 \xHH, an escaped character that is no letter or digit, ( ) (?: ) |, and * + ? {m} {m,} {m,n} with an
// optional ? after them. `.` is any byte but LF and CR.
// Errors: back references, look-ahead, \u and \c, patterns over 1,024 bytes, groups nested deeper than 64, repetitions
// that need more than 10,000 states.
class Regex {
 public:
  static Result<Regex> compile(std::string_view text);

  // The pattern for names as in file names, where / \ . and space are replaced by _: every set that contains one of
  // these also contains _.
  Regex for_escaped_names() const;

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
