#include "stats/data/files/io/text_lines.hpp"

namespace tensorstat {
namespace {

constexpr std::string_view kBlanks = " \t";

}  // namespace

std::string_view without_comment(std::string_view line) {
  for (std::size_t position = line.find('#'); position != line.npos; position = line.find('#', position + 1)) {
    if (position != 0 && kBlanks.find(line[position - 1]) == kBlanks.npos) continue;
    line = line.substr(0, position);
    break;
  }
  line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
  return line.substr(0, line.find_last_not_of(kBlanks) + 1);  // npos + 1 is 0
}

std::string_view take_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(kBlanks));
  line.remove_prefix(word.size());
  return word;
}

}  // namespace tensorstat
