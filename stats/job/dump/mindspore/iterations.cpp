#include "stats/job/dump/mindspore/iterations.hpp"

#include <charconv>
#include <optional>
#include <utility>
#include <vector>

namespace tensorstat {
namespace {

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

std::optional<std::uint64_t> step_in(std::string_view text) {
  text = trimmed(text);
  std::uint64_t step = 0;
  const auto end = text.data() + text.size();
  const auto [stop, fault] = std::from_chars(text.data(), end, step);
  if (fault != std::errc{} || stop != end) return std::nullopt;
  return step;
}

std::optional<NumberSet::Range> range_in(std::string_view part) {
  const auto dash = part.find('-');
  const auto first = step_in(part.substr(0, dash));
  const auto last = dash == part.npos ? first : step_in(part.substr(dash + 1));
  if (!first || !last || *first > *last) return std::nullopt;
  return NumberSet::Range(*first, *last);
}

bool has_a_space_inside_a_number(std::string_view part) {
  for (auto position = part.find(' '); position != part.npos; position = part.find(' ', position + 1)) {
    const auto next = part.find_first_not_of(' ', position);
    if (position != 0 && next != part.npos && part[position - 1] != '-' && part[next] != '-') return true;
  }
  return false;
}

}  // namespace

Result<Iterations> Iterations::parse(std::string_view text) {
  const Error refused{Code::kInvalid, "allowed are \"all\", or steps and ranges between |, as in \"0|5-8|100-120\""};
  Iterations iterations;
  if (text == "all") {
    iterations.steps_ = NumberSet::every();
    return iterations;
  }
  if (text.empty() || text.find_first_not_of("0123456789-| ") != text.npos) return refused;
  std::vector<NumberSet::Range> ranges;
  for (bool more = true; more;) {
    const auto bar = text.find('|');
    more = bar != text.npos;
    const auto part = trimmed(text.substr(0, bar));
    text.remove_prefix(more ? bar + 1 : text.size());
    if (has_a_space_inside_a_number(part)) return refused;
    if (const auto range = range_in(part)) {
      ranges.push_back(*range);
    } else if (!iterations.has_useless_) {
      iterations.has_useless_ = true;
      iterations.useless_ = part;
    }
  }
  iterations.steps_ = NumberSet(std::move(ranges));
  return iterations;
}

}  // namespace tensorstat
