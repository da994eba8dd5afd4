// Regular expressions of std::regex, compiled once: <regex> takes a test seconds to compile.
#pragma once

#include <string>

namespace tensorstat::test {

bool matches(const std::string& text, const std::string& pattern);  // all of the text

std::string replaced(const std::string& text, const std::string& pattern, const std::string& by);

}  // namespace tensorstat::test
