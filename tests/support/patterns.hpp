// Matches regular expressions of std::regex in a source file of its own: <regex> takes seconds to compile.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace tensorstat::test {

bool matches(const std::string& text, const std::string& pattern);  // the whole text must match

std::string replaced(const std::string& text, const std::string& pattern, const std::string& by);

// A pattern that is compiled once.
class Pattern {
 public:
  using Match = std::vector<std::string>;  // the text that matches, then its groups

  explicit Pattern(const std::string& pattern);
  Match first_in(const std::string& text) const;  // empty if nothing matches
  std::vector<Match> all_in(const std::string& text) const;

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace tensorstat::test
