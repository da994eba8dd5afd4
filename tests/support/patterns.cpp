#include "tests/support/patterns.hpp"

#include <regex>

namespace tensorstat::test {

struct Pattern::Compiled {
  std::regex regex;
};

bool matches(const std::string& text, const std::string& pattern) {
  return std::regex_match(text, std::regex(pattern));
}

std::string replaced(const std::string& text, const std::string& pattern, const std::string& by) {
  return std::regex_replace(text, std::regex(pattern), by);
}

Pattern::Pattern(const std::string& pattern) : compiled_(new Compiled{std::regex(pattern)}) {}

Pattern::Match Pattern::first_in(const std::string& text) const {
  std::smatch match;
  std::regex_search(text, match, compiled_->regex);
  return {match.begin(), match.end()};
}

std::vector<Pattern::Match> Pattern::all_in(const std::string& text) const {
  std::vector<Match> matches;
  for (std::sregex_iterator match(text.begin(), text.end(), compiled_->regex), end; match != end; ++match) {
    matches.emplace_back(match->begin(), match->end());
  }
  return matches;
}

}  // namespace tensorstat::test
