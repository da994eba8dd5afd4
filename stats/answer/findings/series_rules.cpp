#include "stats/answer/findings/series_rules.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <iterator>
#include <set>
#include <tensorstat/catalog.hpp>

#include "stats/data/rows/names/direction.hpp"
#include "stats/data/rows/names/row_kind.hpp"

namespace tensorstat {
namespace {

constexpr std::size_t kWindow = 50;  // iterations that the running median looks at, and that drift leaves out
constexpr std::size_t kLeastRecentValues = 20;
constexpr std::size_t kLeastValuesAbove = 5;  // values of an input that drifts, one after another
constexpr std::size_t kLeastOldValues = 150;  // fewer, and the growth of a bias that begins at 0 would be a drift
// Why three times: heavy tails exceed twice too often in 20 values. With twice, 17 % of series of 300 norms drawn from
// Student's t with 2 degrees would be reported as a jump; with three times 0.3 %. For a drift twice is enough: growth
// itself spreads the old values.
constexpr int kTimesOfRecent = 3, kTimesOfOld = 2;
constexpr double kTimesOfGreatest = 50;  // this far beyond all old values is enough, however they scatter

// The median of a growing multiset, in O(log n) a value.
class RunningMedian {
 public:
  void add(double value) {
    if (low_.empty() || value <= *low_.rbegin()) {
      low_.insert(value);
    } else {
      high_.insert(value);
    }
    balance();
  }
  void remove(double value) {
    auto& half = value <= *low_.rbegin() ? low_ : high_;
    half.erase(half.find(value));
    balance();
  }
  std::size_t size() const { return low_.size() + high_.size(); }
  double median() const { return *low_.rbegin(); }  // the lower of the two middle ones
  double greatest() const { return high_.empty() ? *low_.rbegin() : *high_.rbegin(); }

 private:
  void balance() {
    if (low_.size() > high_.size() + 1) {
      high_.insert(low_.extract(std::prev(low_.end())));
    } else if (high_.size() > low_.size()) {
      low_.insert(high_.extract(high_.begin()));
    }
  }
  std::multiset<double> low_, high_;
};

// The size by which a jump is measured. It is independent of the shape: the root of the mean of squares, or without
// l2norm the greatest magnitude. nullopt: both are missing, or the value is not finite or 0.
std::optional<double> size_of(const History& history, const HistoryCell& cell) {
  if (history.has_nan(cell) || history.has_inf(cell)) return std::nullopt;
  const HistoryKind& kind = history.kinds()[cell.kind];
  double size = history.size(cell);
  if (kind.has(kHasL2norm | kHasCount) && kind.count != 0) size /= std::sqrt(static_cast<double>(kind.count));
  if (!std::isfinite(size) || !(size > 0)) return std::nullopt;
  return size;
}

std::size_t begin_of(const History& history, const HistorySeries& series, IterationRange range) {
  if (range.begin == 0) return 0;
  const auto begin = std::ranges::lower_bound(series.cells, range.begin, {},
                                              [&](const HistoryCell& cell) { return history.iteration(cell); });
  return static_cast<std::size_t>(begin - series.cells.begin());
}

// A float argument of the outermost module, which is named by its class.
bool is_input_of_model(const History& history, const HistorySeries& series) {
  const std::string_view dtype = history.dtype(series.cells.front());
  return history.tensors()[series.tensor].is_input && dtype.find("float") != dtype.npos &&
         history.op_name(series.tensor) == std::string(history.op_type(series.tensor)) + "/forward";
}

// A series that is noisy by itself must go further: in logarithms, `times` as far from the median as it ever was, or
// kTimesOfGreatest above the greatest.
std::optional<Breach> breach_of(const RunningMedian& before, std::size_t cell, double value, double limit, int times) {
  const double median = before.median(), greatest = before.greatest();
  const double spread = greatest / median;
  const double bound = median * std::max(limit, std::min(std::pow(spread, times), kTimesOfGreatest * spread));
  if (!(value > bound)) return std::nullopt;
  return Breach{.cell = cell, .value = value, .limit = bound, .usual = median};
}

// Calls each(place in the series, cell) of the iterations in `range` until it returns false.
template <typename Each>
void walk(const History& history, const HistorySeries& series, IterationRange range, Each each) {
  for (std::size_t index = begin_of(history, series, range); index < series.cells.size(); ++index) {
    if (history.iteration(series.cells[index]) >= range.end || !each(index, series.cells[index])) return;
  }
}

}  // namespace

TensorKind kind_of(const History& history, const HistorySeries& series) {
  switch (row_kind(history.op_type(series.tensor))) {
    case RowKind::kParameter:
      return TensorKind::kParameter;
    case RowKind::kGradient:
      return TensorKind::kGradient;
    case RowKind::kUpdate:
      return TensorKind::kUpdate;
    case RowKind::kBuffer:
      return TensorKind::kBuffer;
    case RowKind::kLoss:
      return TensorKind::kLoss;
    case RowKind::kOptimizerState:
    case RowKind::kOfCall:
      break;
  }
  return is_of_backward(history.op_name(series.tensor)) ? TensorKind::kBackward : TensorKind::kForward;
}

std::set<std::uint32_t> listed_states(const History& history) {
  std::set<std::uint32_t> names;
  for (std::uint32_t index = 0; index < history.tensors().size(); ++index) {
    const HistoryTensor& tensor = history.tensors()[index];
    if (tensor.slot != 0 && row_kind(history.op_type(index)) == RowKind::kOptimizerState) names.insert(tensor.op_name);
  }
  return names;
}

std::string label_of(RowKind kind, std::string_view name) {
  const std::string text(name);
  switch (kind) {
    case RowKind::kLoss:
      return "the loss";
    case RowKind::kParameter:
      return "parameter " + text;
    case RowKind::kGradient:
      return "gradient of " + text;
    case RowKind::kUpdate:
      return "update of " + text;
    case RowKind::kBuffer:
      return "buffer " + text;
    case RowKind::kOptimizerState:
      return "optimizer state " + text;
    case RowKind::kOfCall:
      break;
  }
  return text;
}

std::string label_of(const History& history, const HistorySeries& series) {
  const RowKind kind = row_kind(history.op_type(series.tensor));
  const std::string_view name = history.op_name(series.tensor);
  if (kind != RowKind::kOfCall && kind != RowKind::kOptimizerState) return label_of(kind, name);
  const HistoryTensor& tensor = history.tensors()[series.tensor];
  return std::string(name) + (tensor.is_input ? " input " : " output ") + std::to_string(tensor.slot);
}

bool is_noise(const History& history, const HistorySeries& series, const HistoryCell& cell,
              const std::vector<double>& noise) {
  return kind_of(history, series) == TensorKind::kGradient && cell.place < noise.size() &&
         history.absmax(cell) < noise[cell.place];
}

SeriesJudgement judge_overflow(const History& history, const HistorySeries& series, double limit,
                               IterationRange range) {
  SeriesJudgement judgement;
  // A scaled loss makes gradients as large as they may be, and a step that overflows is skipped: that is its design.
  if (kind_of(history, series) != TensorKind::kForward) return judgement;
  bool was_below = false;
  walk(history, series, range, [&](std::size_t index, const HistoryCell& cell) {
    const double greatest = end_of_range(history.dtype(cell)), absmax = history.absmax(cell);
    if (greatest == 0 || !std::isfinite(absmax)) return true;
    judgement.was_judged = true;
    if (was_below && absmax > limit * greatest && absmax < greatest) {
      judgement.breach = Breach{.cell = index, .value = absmax, .limit = limit * greatest};
    }
    was_below |= absmax > 0 && absmax < limit * greatest / 4;
    return !judgement.breach;
  });
  return judgement;
}

SeriesJudgement judge_jump(const History& history, const HistorySeries& series, double limit, IterationRange range,
                           const std::vector<double>& noise) {
  SeriesJudgement judgement;
  RunningMedian recent;
  std::deque<double> sizes;
  double greatest_ever = 0, last_count = 0;
  walk(history, series, range, [&](std::size_t index, const HistoryCell& cell) {
    const auto size = size_of(history, cell);
    if (!size || is_noise(history, series, cell, noise)) return true;
    // The gradient of a mean is larger where the batch is smaller.
    const auto count = static_cast<double>(history.kinds()[cell.kind].count);
    const bool has_other_shape = count != last_count && (count >= 2 * last_count || 2 * count <= last_count);
    last_count = count;
    if (sizes.size() >= kLeastRecentValues && !has_other_shape) {
      judgement.was_judged = true;
      if (*size > kShareOfGreatest * greatest_ever)
        judgement.breach = breach_of(recent, index, *size, limit, kTimesOfRecent);
      if (judgement.breach) return false;
    }
    greatest_ever = std::max(greatest_ever, *size);
    recent.add(*size);
    sizes.push_back(*size);
    if (sizes.size() > kWindow) {
      recent.remove(sizes.front());
      sizes.pop_front();
    }
    return true;
  });
  return judgement;
}

SeriesJudgement judge_drift(const History& history, const HistorySeries& series, double limit, IterationRange range,
                            const std::vector<double>& noise) {
  SeriesJudgement judgement;
  RunningMedian old;
  // Training does not change the inputs of the model, so no warm-up excuses their growth.
  const bool is_input = is_input_of_model(history, series);
  const std::size_t window = is_input ? 0 : kWindow, least = is_input ? kLeastRecentValues : kLeastOldValues;
  std::size_t next = begin_of(history, series, range);  // the first cell that is not among the old ones
  std::size_t last_usual = next, above = 0;
  std::optional<double> usual;  // the greatest of the old values; before there are any, the first value
  walk(history, series, range, [&](std::size_t index, const HistoryCell& cell) {
    for (; next + window < index && (!is_input || old.size() < least); ++next) {
      if (is_noise(history, series, series.cells[next], noise)) continue;
      if (const auto size = size_of(history, series.cells[next])) old.add(*size);
    }
    const auto size = size_of(history, cell);
    if (!size || is_noise(history, series, cell, noise)) return true;
    usual = old.size() != 0 ? old.greatest() : usual.value_or(*size);
    if (*size <= *usual) last_usual = index;
    if (old.size() < least) return true;
    judgement.was_judged = true;
    const auto breach = breach_of(old, index, *size, limit, kTimesOfOld);
    above = breach ? above + 1 : 0;
    if (breach && (!is_input || above == kLeastValuesAbove)) {
      judgement.breach = breach;
      judgement.breach->began = last_usual + 1;
    }
    return !judgement.breach;
  });
  return judgement;
}

SeriesJudgement judge_dead(const History& history, const HistorySeries& series, double limit, IterationRange range) {
  SeriesJudgement judgement;
  if (kind_of(history, series) != TensorKind::kForward || history.tensors()[series.tensor].is_input) return judgement;
  std::size_t first_zero = 0, zeros = 0;
  bool has_lived = false;
  walk(history, series, range, [&](std::size_t index, const HistoryCell& cell) {
    const double absmax = history.absmax(cell);
    if (!history.kinds()[cell.kind].has(kHasAbsmax)) return true;
    judgement.was_judged = true;
    if (absmax != 0) {
      has_lived = true;
      zeros = 0;
    } else if (zeros++ == 0) {
      first_zero = index;
    }
    return true;
  });
  if (has_lived && zeros > 0 && static_cast<double>(zeros) >= limit) {
    judgement.breach = Breach{.cell = first_zero, .value = static_cast<double>(zeros), .limit = limit};
  }
  return judgement;
}

SeriesJudgement judge_frozen(const History& history, const HistorySeries& series, double limit, IterationRange range,
                             std::uint64_t changes_until) {
  SeriesJudgement judgement;
  const auto& prints = series.fingerprints;
  std::size_t last_change = 0, equal = 0;
  walk(history, series, range, [&](std::size_t index, const HistoryCell& cell) {
    if (index == 0 || index >= prints.size() || prints[index] == 0 || prints[index - 1] == 0) return true;
    judgement.was_judged = true;
    // NaN has the same bits in each iteration, but it is not a stuck value.
    if (prints[index] != prints[index - 1] || history.has_nan(cell) || history.has_inf(cell)) {
      last_change = index;
      equal = 0;
    } else if (history.iteration(cell) <= changes_until) {
      ++equal;
    }
    return true;
  });
  if (last_change > 0 && equal > 0 && static_cast<double>(equal) >= limit) {
    judgement.breach = Breach{.cell = last_change + 1, .value = static_cast<double>(equal), .limit = limit};
  }
  return judgement;
}

double end_of_range(std::string_view dtype) {
  const auto known = dtype_from(dtype);
  return known && size_bytes(*known) > 1 ? greatest_finite(*known).value_or(0) : 0;
}

}  // namespace tensorstat
