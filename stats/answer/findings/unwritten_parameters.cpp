#include "stats/answer/findings/unwritten_parameters.hpp"

#include <algorithm>
#include <cstdint>
#include <map>

#include "stats/data/rows/names/row_kind.hpp"

namespace tensorstat {
namespace {

constexpr int kLeastWrittenParameters = 3;  // so that an optimizer is at work

struct OfName {
  const HistorySeries *before = nullptr, *written = nullptr, *gradient = nullptr;
};

std::size_t steps_with_gradient(const History& history, const HistorySeries& gradient) {
  const auto has_value = [&](const HistoryCell& cell) { return history.absmax(cell) != 0; };
  return static_cast<std::size_t>(std::ranges::count_if(gradient.cells, has_value));
}

}  // namespace

std::vector<UnwrittenParameter> unwritten_parameters(const History& history, double limit, bool& is_judged) {
  std::map<std::uint32_t, std::map<std::uint32_t, OfName>> ranks;  // by rank, by name
  for (const HistorySeries& series : history.series()) {
    const HistoryTensor& tensor = history.tensors()[series.tensor];
    if (tensor.call != 0 || series.cells.empty()) continue;
    OfName& of_name = ranks[series.rank][tensor.op_name];
    const RowKind kind = row_kind(history.op_type(series.tensor));
    if (kind == RowKind::kParameter) (tensor.is_input ? of_name.before : of_name.written) = &series;
    if (kind == RowKind::kGradient && tensor.is_input) of_name.gradient = &series;
  }
  std::vector<UnwrittenParameter> parameters;
  for (const auto& [rank, names] : ranks) {
    int written = 0;
    std::uint64_t end = 0;
    for (const auto& [name, of_name] : names) {
      if (of_name.written == nullptr || static_cast<double>(of_name.written->cells.size()) < limit) continue;
      ++written;
      end = std::max(end, history.iteration(of_name.written->cells.back()));
    }
    if (written < kLeastWrittenParameters) continue;
    is_judged = true;
    for (const auto& [name, of_name] : names) {
      const bool is_unwritten = of_name.before != nullptr && of_name.written == nullptr && of_name.gradient != nullptr;
      if (!is_unwritten || history.iteration(of_name.gradient->cells.back()) < end) continue;
      const std::size_t steps = steps_with_gradient(history, *of_name.gradient);
      if (static_cast<double>(steps) >= limit) parameters.push_back({of_name.before, of_name.gradient, steps});
    }
  }
  return parameters;
}

}  // namespace tensorstat
