#include "stats/files/operator_run_name.hpp"

#include <algorithm>
#include <charconv>
#include <vector>

namespace tensorstat {
namespace {

std::optional<std::uint64_t> number_in(std::string_view digits) {
  std::uint64_t number = 0;
  const auto end = digits.data() + digits.size();
  const auto [stop, fault] = std::from_chars(digits.data(), end, number);
  if (fault != std::errc{} || stop != end || digits.empty()) return std::nullopt;
  return number;
}

}  // namespace

std::optional<OperatorRunName> OperatorRunName::from(std::string_view name) {
  constexpr std::size_t kThreadNumbers = 4, kMostNumbers = 3 + kThreadNumbers;
  std::vector<std::uint64_t> numbers;  // the last one first
  std::vector<std::string_view> before{name};  // what is left of the name before each of them
  while (numbers.size() < kMostNumbers) {
    const std::string_view rest = before.back();
    const std::size_t dot = rest.rfind('.');
    const auto number = dot == rest.npos ? std::nullopt : number_in(rest.substr(dot + 1));
    if (!number) break;
    numbers.push_back(*number);
    before.push_back(rest.substr(0, dot));
  }
  // Type and name come before the numbers. A name may be a number, too.
  const auto has_two_parts = [](std::string_view text) {
    const std::size_t dot = text.rfind('.');
    return dot != text.npos && dot != 0 && dot + 1 != text.size();
  };
  while (!numbers.empty() && !has_two_parts(before[numbers.size()])) numbers.pop_back();
  if (numbers.size() > 3 && numbers.size() < kMostNumbers) numbers.resize(3);
  if (numbers.size() < 2) return std::nullopt;

  const std::string_view parts = before[numbers.size()];
  OperatorRunName found{.op_type = parts.substr(0, parts.rfind('.')), .op_name = parts.substr(parts.rfind('.') + 1)};
  const std::size_t time = numbers.size() == kMostNumbers ? kThreadNumbers : 0;
  found.timestamp_us = numbers[time];
  found.task_id = numbers.back();
  if (numbers.size() != 2) {
    found.stream_id = numbers[time + 1];
  } else if (!found.is_of_this_age() || found.op_type.find('.') != found.op_type.npos) {
    return std::nullopt;
  }
  return found;
}

}  // namespace tensorstat
