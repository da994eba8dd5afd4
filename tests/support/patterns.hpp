// Matches regular expressions of std::regex in a source file of its own: <regex> takes seconds to compile.
#pragma once

#include <string>

namespace tensorstat::test {

bool matches(const std::string& text, const std::string& pattern);  // the whole text must match

std::string replaced(const std::string& text, const std::string& pattern, const std::string& by);

}  // namespace tensorstat::test
