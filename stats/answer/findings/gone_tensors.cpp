#include "stats/answer/findings/gone_tensors.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "stats/data/rows/names/row_kind.hpp"

namespace tensorstat {
namespace {

constexpr std::size_t kLeastCells = 20;

using ByOperator = std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<const HistorySeries*>>;  // rank, name
using Names = std::map<std::string, std::uint32_t, std::less<>>;

bool is_shorter(const HistorySeries* a, const HistorySeries* b) { return a->cells.size() < b->cells.size(); }

// The output with the most rows of the module that a gradient's parameter belongs to; nullptr for other tensors.
const HistorySeries* forward_of(const History& history, const HistorySeries& series, const ByOperator& by_operator,
                                const Names& names) {
  if (row_kind(history.op_type(series.tensor)) != RowKind::kGradient) return nullptr;
  const std::string_view parameter = history.op_name(series.tensor);
  const std::size_t dot = parameter.rfind('.');
  const auto forward = names.find(std::string(parameter.substr(0, dot == parameter.npos ? 0 : dot)) + "/forward");
  if (forward == names.end()) return nullptr;
  const auto entry = by_operator.find({series.rank, forward->second});
  if (entry == by_operator.end()) return nullptr;
  const HistorySeries* longest = nullptr;
  for (const HistorySeries* each : entry->second) {
    const bool is_output = !history.tensors()[each->tensor].is_input;
    if (is_output && (longest == nullptr || is_shorter(longest, each))) longest = each;
  }
  return longest;
}

// The last cell of `longest` at which `series` has one, if it had one at each of them before, and none after.
std::optional<std::size_t> gone_after(const HistorySeries& series, const HistorySeries& longest, double limit,
                                      bool& is_judged) {
  const auto place = [&](std::size_t cell) { return longest.cells[cell].place; };
  if (series.cells.size() < kLeastCells || longest.cells.size() < kLeastCells) return std::nullopt;
  is_judged = true;
  const auto first = std::ranges::lower_bound(longest.cells, series.cells.front().place, {}, &HistoryCell::place);
  const auto begin = static_cast<std::size_t>(first - longest.cells.begin()), count = series.cells.size();
  if (begin + count > longest.cells.size()) return std::nullopt;
  for (std::size_t i = 0; i < count; ++i) {
    if (series.cells[i].place != place(begin + i)) return std::nullopt;
  }
  const std::size_t missing = longest.cells.size() - begin - count;
  if (missing == 0 || static_cast<double>(missing) < limit) return std::nullopt;
  return begin + count - 1;
}

}  // namespace

std::vector<GoneTensor> gone_tensors(const History& history, double limit, bool& is_judged) {
  std::vector<GoneTensor> gone;
  ByOperator by_operator;
  Names names;
  for (const HistorySeries& series : history.series()) {
    const HistoryTensor& tensor = history.tensors()[series.tensor];
    if (tensor.call == 0) by_operator[{series.rank, tensor.op_name}].push_back(&series);
    names.emplace(history.op_name(series.tensor), tensor.op_name);
  }
  for (const auto& [key, all] : by_operator) {
    const HistorySeries* const longest_here = *std::ranges::max_element(all, is_shorter);
    for (const HistorySeries* series : all) {
      // An optimizer does not write a parameter without a gradient, and then neither has rows. Its module still does.
      const HistorySeries* const forward = forward_of(history, *series, by_operator, names);
      const HistorySeries* const longest =
          forward == nullptr ? longest_here : std::max(longest_here, forward, is_shorter);
      if (longest == series) continue;
      if (const auto last = gone_after(*series, *longest, limit, is_judged)) gone.push_back({series, longest, *last});
    }
  }
  return gone;
}

}  // namespace tensorstat
