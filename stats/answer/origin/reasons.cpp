#include "stats/answer/origin/reasons.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <optional>

#include "stats/data/rows/names/op_name.hpp"
#include "stats/data/rules/comparison.hpp"

namespace tensorstat {
namespace {

// The greatest magnitude that a row says; none where it is not finite.
std::optional<double> absmax_of(const StatisticsView& statistics) {
  const auto most = as_double(statistics.find(Category::kMax)), least = as_double(statistics.find(Category::kMin));
  if (!most || !least || !std::isfinite(*most) || !std::isfinite(*least)) return std::nullopt;
  return std::max(std::fabs(*most), std::fabs(*least));
}

std::optional<double> greatest_of(std::string_view dtype) {
  if (dtype == "float16") return 65504.0;
  if (dtype == "bfloat16") return 3.3895313892515355e38;
  if (dtype == "float32") return double{std::numeric_limits<float>::max()};
  if (dtype == "float64") return std::numeric_limits<double>::max();
  return std::nullopt;
}

std::string reason_of_least(std::string_view operation, double least) {
  const bool is_log = operation == "log" || operation == "log2" || operation == "log10";
  if (is_log && least < 0) return "log of a negative";
  if (is_log && least == 0) return "log of 0";
  if (operation == "log1p" && least <= -1) return least == -1 ? "log of 0" : "log of a negative";
  const bool is_root = operation == "sqrt" || operation == "rsqrt";
  if (is_root && least < 0) return "root of a negative";
  const bool is_inverse = operation == "rsqrt" || operation == "reciprocal" || operation == "inv";
  return is_inverse && least == 0 ? "a division by 0" : "";
}

}  // namespace

std::string reason_of_operation(std::string_view operation, std::string_view given) {
  double least = NAN;
  if (const auto at = given.find("min "); at != given.npos) {
    std::from_chars(given.data() + at + 4, given.data() + given.size(), least);
  }
  return reason_of_least(lower_case(operation), least);
}

std::string reason_of_inputs(const Record& record, std::string_view operation, std::span<const Seen* const> inputs,
                             const Seen& output) {
  if (inputs.empty()) return {};
  const std::string what = lower_case(operation);
  const auto first = record.statistics(*inputs.front());
  const auto least = as_double(first.find(Category::kMin)), most = as_double(first.find(Category::kMax));
  if (least) {
    if (std::string why = reason_of_least(what, *least); !why.empty()) return why;
  }
  const std::string_view dtype = record.texts()[output.dtype];
  const auto greatest = greatest_of(dtype);
  if (what == "exp" && greatest && most && *most > std::log(*greatest)) {
    return "exp of " + short_number(*most) + " is beyond " + std::string(dtype) + " (" + short_number(*greatest) + ")";
  }
  const bool divides =
      what == "div" || what == "realdiv" || what == "true_divide" || what == "divide" || what == "divnonan";
  if (!divides || inputs.size() < 2) return {};
  const auto zeros = as_double(record.statistics(*inputs[1]).find(Category::kZeroCount));
  if (!zeros || !(*zeros > 0)) return {};
  return "a division by 0: input " + std::to_string(inputs[1]->slot) + " holds " + short_number(*zeros, 15) + " zeros";
}

std::string reason_of_growth(const Record& record, const Seen& seen) {
  const std::string_view dtype = record.texts()[seen.dtype];
  const auto greatest = greatest_of(dtype);
  if (!greatest || specials_of(record.statistics(seen)).inf == 0u) return {};
  std::map<std::uint64_t, double> sizes;  // by iteration
  for (const Seen& row : record.rows()) {
    if (row.iteration >= seen.iteration) break;
    if (row.name != seen.name || row.rank != seen.rank || row.is_input != seen.is_input || row.slot != seen.slot)
      continue;
    const auto size = absmax_of(record.statistics(row));
    if (!size) return {};
    double& most = sizes[row.iteration];
    most = std::max(most, *size);
  }
  if (sizes.size() < 3) return {};
  auto first = std::prev(sizes.end());
  while (first != sizes.begin() && std::prev(first)->second > 0 && std::prev(first)->second * 1.02 < first->second)
    --first;
  const auto last = std::prev(sizes.end());
  if (std::distance(first, last) < 2) return {};
  const double factor = std::pow(last->second / first->second, 1.0 / static_cast<double>(last->first - first->first));
  const double next = last->second * std::pow(factor, static_cast<double>(seen.iteration - last->first));
  if (!(next * factor >= *greatest)) return {};
  return "absmax grew " + short_number(factor, 3) + " times a step from iteration " + std::to_string(first->first) +
         " on, was " + short_number(last->second) + " in iteration " + std::to_string(last->first) + ", and passed " +
         short_number(*greatest) + ", the most of " + std::string(dtype);
}

std::string short_number(double value, int digits) {
  if (std::isnan(value)) return "nan";
  std::array<char, 40> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, digits).ptr;
  return {text.data(), end};
}

}  // namespace tensorstat
