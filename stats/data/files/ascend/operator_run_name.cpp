#include "stats/data/files/ascend/operator_run_name.hpp"

#include <algorithm>
#include <array>
#include <charconv>

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
  std::array<std::uint64_t, kMostNumbers> numbers;              // the last one first
  std::array<std::string_view, kMostNumbers + 1> before{name};  // the part of the name before each of them
  std::size_t count = 0;
  while (count < kMostNumbers) {
    const std::string_view rest = before[count];
    const std::size_t dot = rest.rfind('.');
    const auto number = dot == rest.npos ? std::nullopt : number_in(rest.substr(dot + 1));
    if (!number) break;
    numbers[count++] = *number;
    before[count] = rest.substr(0, dot);
  }
  // Type and name stand before the numbers. The name itself may be a number.
  const auto has_two_parts = [](std::string_view text) {
    const std::size_t dot = text.rfind('.');
    return dot != text.npos && dot != 0 && dot + 1 != text.size();
  };
  while (count != 0 && !has_two_parts(before[count])) --count;
  if (count > 3 && count < kMostNumbers) count = 3;
  if (count < 2) return std::nullopt;

  const std::string_view parts = before[count];
  OperatorRunName run{.op_type = parts.substr(0, parts.rfind('.')), .op_name = parts.substr(parts.rfind('.') + 1)};
  const std::size_t time = count == kMostNumbers ? kThreadNumbers : 0;
  run.timestamp_us = numbers[time];
  run.task_id = numbers[count - 1];
  if (count != 2) {
    run.stream_id = numbers[time + 1];
  } else if (!run.is_of_this_age() || run.op_type.find('.') != run.op_type.npos) {
    return std::nullopt;
  }
  return run;
}

}  // namespace tensorstat
