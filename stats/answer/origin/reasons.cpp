#include "stats/answer/origin/reasons.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <vector>

#include "stats/answer/origin/operation_reasons.hpp"
#include "stats/core/base/printable.hpp"
#include "stats/data/rows/names/row_kind.hpp"
#include "stats/data/rules/comparison.hpp"

namespace tensorstat {
namespace {

constexpr double kLeap = 1e6;

// The greatest magnitude that a row says; none where it is not finite.
std::optional<double> absmax_of(const StatisticsView& statistics) {
  const auto most = as_double(statistics.find(Category::kMax)), least = as_double(statistics.find(Category::kMin));
  if (!most || !least || !std::isfinite(*most) || !std::isfinite(*least)) return std::nullopt;
  return std::max(std::fabs(*most), std::fabs(*least));
}

}  // namespace

std::string reason_of_inputs(const Record& record, std::string_view operation, std::span<const RecordRow* const> inputs,
                             const RecordRow& output) {
  if (inputs.empty()) return {};
  std::vector<Operand> operands;
  for (const RecordRow* input : inputs) {
    const StatisticsView statistics = record.statistics(*input);
    operands.push_back({.dtype = std::string(record.texts()[input->dtype]),
                        .least = as_double(statistics.find(Category::kMin)),
                        .most = as_double(statistics.find(Category::kMax)),
                        .zeros = as_double(statistics.find(Category::kZeroCount)),
                        .name = "input " + std::to_string(input->slot),
                        .is_empty = input->element_count == 0});
  }
  const Specials gave = specials_of(record.statistics(output));
  return reason_of_operation(operation, operands, {.nan = gave.has_nan(), .inf = gave.has_inf()},
                             record.texts()[output.dtype]);
}

std::string reason_of_growth(const Record& record, const RecordRow& seen) {
  const std::string_view dtype = record.texts()[seen.dtype];
  const auto greatest = greatest_of(dtype);
  if (!greatest || specials_of(record.statistics(seen)).inf == 0u) return {};
  std::map<std::uint64_t, double> sizes;  // by iteration
  for (const RecordRow& row : record.rows()) {
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

std::string reason_of_leap(const Record& record, const RecordRow& seen, std::span<const std::uint32_t> of_model) {
  using Tensor = std::pair<std::uint32_t, std::uint32_t>;
  struct First {
    double size = 0;
    std::uint64_t iteration = 0;
  };
  std::map<Tensor, First> firsts;
  for (const RecordRow& row : record.rows()) {
    if (row.iteration > seen.iteration) break;
    const bool is_parameter = row_kind(record.texts()[row.op_type]) == RowKind::kParameter;
    const bool is_of_model = std::ranges::any_of(of_model, [&](std::uint32_t input) {
      const RecordRow& given = record.rows()[input];
      return given.name == row.name && given.slot == row.slot && given.is_input && row.is_input;
    });
    if (row.rank != seen.rank || (!is_parameter && !is_of_model)) continue;
    const auto size = absmax_of(record.statistics(row));
    if (!size) continue;
    const auto [first, is_new] = firsts.try_emplace({row.name, row.slot}, First{*size, row.iteration});
    if (is_new || !(first->second.size > 0) || *size < kLeap || *size < kLeap * first->second.size) continue;
    const std::string grown = " grew: absmax " + short_number(first->second.size) + " in iteration " +
                              std::to_string(first->second.iteration) + ", " + short_number(*size);
    const std::string when = " iteration " + std::to_string(row.iteration);
    if (is_of_model) return "what the model is given" + grown + " in" + when;
    const std::string name = printable_name(record.texts()[row.name]);
    return "the parameter " + name + grown + (row.is_input ? " before" : " behind") + " the step of" + when;
  }
  return {};
}

std::string oddity_of(const Record& record, const RecordRow& row) {
  const auto range_of = [&](const RecordRow& each) {
    const StatisticsView statistics = record.statistics(each);
    return std::pair(as_double(statistics.find(Category::kMin)), as_double(statistics.find(Category::kMax)));
  };
  const auto [least, most] = range_of(row);
  if (!least || !most || *least != *most || row.element_count < 2) return {};
  const bool is_float = record.texts()[row.dtype].find("float") != std::string_view::npos;
  if (is_float && *least != 0) return {};
  bool has_other = false, was_so = false;
  for (const RecordRow& each : record.rows()) {
    if (each.iteration >= row.iteration) break;
    if (each.name != row.name || each.rank != row.rank || each.is_input != row.is_input || each.slot != row.slot)
      continue;
    const auto [low, high] = range_of(each);
    if (low && high) (*low == *least && *high == *least ? was_so : has_other) = true;
  }
  const bool is_usual = *least == 0 || *least == 1;  // of a mask or of types of tokens
  return was_so || (is_usual && !has_other) ? std::string() : "is all " + short_number(*least);
}

bool may_explain(const Row& row, const Record::Place& place, const FaultVerdict& verdict,
                 const std::set<std::string, std::less<>>& of_model) {
  if (place.rank != verdict.rank) return false;
  if (place.name == verdict.row_of.op_name || of_model.contains(place.name)) return true;
  return row_kind(row.identity.op_type) == RowKind::kParameter && absmax_of(row.statistics).value_or(0) >= kLeap;
}

}  // namespace tensorstat
