#include "stats/core/base/nearest_names.hpp"

#include <algorithm>
#include <utility>

namespace tensorstat {
namespace {

constexpr std::size_t kMostNearest = 3, kMostLetters = 64;

std::string plain(std::string_view name) {
  std::string text(name.substr(0, kMostLetters));
  for (char& letter : text) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    if (letter == '-' || letter == '_') letter = ' ';
  }
  return text;
}

// How many letters to change, insert, leave out or exchange with the next one.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before, last(b.size() + 1), now(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      const bool is_exchange = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (is_exchange) now[j] = std::min(now[j], before[j - 2] + 1);
    }
    before = std::exchange(last, now);
  }
  return last[b.size()];
}

}  // namespace

std::vector<std::string> nearest_names(std::string_view typed, std::span<const std::string> names) {
  const std::string wanted = plain(typed);
  std::vector<std::pair<std::size_t, std::size_t>> by_distance;  // with the place in `names`
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string name = plain(names[i]);
    const bool holds = wanted.size() > 2 && (name.find(wanted) != name.npos || wanted.find(name) != wanted.npos);
    by_distance.emplace_back(holds && wanted != name ? 1 : distance(wanted, name), i);
  }
  std::ranges::sort(by_distance);
  std::vector<std::string> nearest;
  for (const auto& [letters, index] : by_distance) {
    if (nearest.size() == kMostNearest) break;
    nearest.push_back(names[index]);
  }
  return nearest;
}

}  // namespace tensorstat
