#include "stats/answer/findings/heat_map.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace tensorstat {
namespace {

constexpr std::size_t kPast = 50, kFewest = 50;
constexpr int kStepsOfLog = 16, kLogs = 2 * 1100 * kStepsOfLog;  // binary64 has 2^-1074 to 2^1024
constexpr std::uint32_t kMostChange = 1024 * kStepsOfLog;

// Logarithms as steps, counted: the median moves with the counts.
class CountedMedian {
 public:
  void add(int step) {
    if (counts_.empty()) counts_.resize(kLogs);
    ++counts_[static_cast<std::size_t>(step)];
    touched_.push_back(step);
    if (total_++ == 0) {
      median_ = step;
      below_ = 0;
      return;
    }
    if (step < median_) ++below_;
    const std::size_t half = (total_ - 1) / 2;
    while (below_ > half) below_ -= counts_[static_cast<std::size_t>(--median_)];
    while (below_ + counts_[static_cast<std::size_t>(median_)] <= half) {
      below_ += counts_[static_cast<std::size_t>(median_++)];
    }
  }
  void clear() {
    for (const int step : touched_) counts_[static_cast<std::size_t>(step)] = 0;
    touched_.clear();
    total_ = below_ = 0;
  }
  std::size_t total() const { return total_; }
  int median() const { return median_; }  // the lower of the two middle ones

 private:
  std::vector<std::uint32_t> counts_;
  std::vector<int> touched_;
  std::size_t total_ = 0, below_ = 0;
  int median_ = 0;
};

// For a finite value other than 0.
int step_of(double value) {
  return static_cast<int>(std::lround(std::log2(std::fabs(value)) * kStepsOfLog)) + kLogs / 2;
}

HeatLook look_of(const History& history, const HistoryCell& cell, double value) {
  if (history.has_nan(cell)) return HeatLook::kNan;
  if (history.has_inf(cell)) {
    const HistoryKind& kind = history.kinds()[cell.kind];
    const bool is_minus = kind.has(kShowsMinusInf) && !kind.has(kShowsPlusInf);
    return is_minus ? HeatLook::kMinusInf : HeatLook::kPlusInf;
  }
  if (std::isnan(value)) return HeatLook::kMissing;
  if (std::isinf(value)) return value > 0 ? HeatLook::kPlusInf : HeatLook::kMinusInf;
  return value == 0 ? HeatLook::kZero : HeatLook::kValue;
}

void fill_keys(const History& history, const HistorySeries& series, HeatValue value, CountedMedian& past,
               std::vector<HeatKey>& keys) {
  const std::size_t count = series.cells.size();
  std::vector<int> steps(count, -1);  // -1: it has none
  std::vector<HeatLook> looks(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double number = value_of(history, series.cells[i], value);
    looks[i] = look_of(history, series.cells[i], number);
    if (looks[i] == HeatLook::kValue) steps[i] = step_of(number);
  }
  past.clear();
  for (std::size_t i = 0; i < std::min(count, kPast); ++i) {
    if (steps[i] >= 0) past.add(steps[i]);
  }
  const bool has_first = past.total() != 0;
  const int first = past.median();
  past.clear();
  keys.resize(count);
  std::size_t entered = 0;
  for (std::size_t i = 0; i < count; ++i) {
    for (; entered + kPast < i; ++entered) {
      if (steps[entered] >= 0) past.add(steps[entered]);
    }
    double change = 0;
    if (steps[i] >= 0 && (has_first || past.total() >= kFewest)) {
      change = static_cast<double>(steps[i] - (past.total() >= kFewest ? past.median() : first)) / kStepsOfLog;
    }
    keys[i] = HeatKey(looks[i], change);
  }
}

}  // namespace

// A value's key: the size of the change, then a bit for its sign.
HeatKey::HeatKey(HeatLook look, double change) : key_(static_cast<std::uint32_t>(look) << 24) {
  if (look != HeatLook::kValue) return;
  const auto steps = static_cast<std::uint32_t>(std::min<double>(std::fabs(change) * kStepsOfLog, kMostChange));
  key_ |= steps << 1 | (change < 0 ? 1 : 0);
}

HeatLook HeatKey::look() const { return static_cast<HeatLook>(key_ >> 24); }

double HeatKey::change() const {
  const double size = static_cast<double>((key_ & 0xffffff) >> 1) / kStepsOfLog;
  return (key_ & 1) != 0 ? -size : size;
}

double HeatKey::shade() const { return std::pow(std::clamp((std::fabs(change()) - 1) / 5, 0.0, 1.0), 0.8); }

std::string_view name(HeatValue value) {
  constexpr std::string_view kNames[] = {"l2norm", "absmax", "max", "min", "avg"};
  return kNames[static_cast<int>(value)];
}

std::optional<HeatValue> heat_value_from(std::string_view text) {
  for (const HeatValue value :
       {HeatValue::kL2norm, HeatValue::kAbsmax, HeatValue::kMax, HeatValue::kMin, HeatValue::kAvg}) {
    if (name(value) == text) return value;
  }
  return std::nullopt;
}

double value_of(const History& history, const HistoryCell& cell, HeatValue value) {
  const HistoryKind& kind = history.kinds()[cell.kind];
  switch (value) {
    case HeatValue::kL2norm:
      return kind.has(kHasL2norm) ? cell.l2norm : NAN;
    case HeatValue::kAbsmax:
      return history.absmax(cell);
    case HeatValue::kMax:
      return kind.has(kHasMax) ? cell.max : NAN;
    case HeatValue::kMin:
      return kind.has(kHasMin) ? cell.min : NAN;
    case HeatValue::kAvg:
      break;
  }
  return kind.has(kHasAvg) ? cell.avg : NAN;
}

std::optional<HeatValue> first_measured(const History& history) {
  std::uint16_t measured = 0;
  for (const HistoryKind& kind : history.kinds()) measured |= kind.measured;
  if ((measured & kHasL2norm) != 0) return HeatValue::kL2norm;
  if ((measured & kHasAbsmax) != 0) return HeatValue::kAbsmax;
  if ((measured & kHasMax) != 0) return HeatValue::kMax;
  if ((measured & kHasMin) != 0) return HeatValue::kMin;
  if ((measured & kHasAvg) != 0) return HeatValue::kAvg;
  return std::nullopt;
}

std::vector<HeatKey> keys_of(const History& history, const HistorySeries& series, HeatValue value) {
  CountedMedian past;
  std::vector<HeatKey> keys;
  fill_keys(history, series, value, past, keys);
  return keys;
}

HeatMap::HeatMap(const History& history, Choice choice) : tensors_(std::move(choice.tensors)) {
  std::unordered_map<std::uint32_t, std::size_t> line_of;  // of a tensor
  if (tensors_.empty()) {
    for (const HistorySeries& series : history.series()) {
      if (line_of.try_emplace(series.tensor, tensors_.size()).second) tensors_.push_back(series.tensor);
    }
  } else {
    for (std::size_t i = 0; i < tensors_.size(); ++i) line_of.try_emplace(tensors_[i], i);
  }
  for (const std::uint64_t iteration : history.iterations()) {
    if (iteration >= choice.first && iteration <= choice.last) iterations_.push_back(iteration);
  }
  rows_ = std::min(choice.most_rows, tensors_.size());
  columns_ = std::min(choice.most_columns, iterations_.size());
  keys_.resize(rows_ * columns_);
  if (keys_.empty()) return;
  CountedMedian past;
  std::vector<HeatKey> keys;
  for (const HistorySeries& series : history.series()) {
    const auto line = line_of.find(series.tensor);
    if (line == line_of.end() || (choice.rank && *choice.rank != series.rank)) continue;
    fill_keys(history, series, choice.value, past, keys);
    // The row that covers the line, and the column that covers an iteration.
    const std::size_t row = ((line->second + 1) * rows_ - 1) / tensors_.size();
    std::size_t index = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const std::uint64_t iteration = history.iteration(series.cells[i]);
      while (index < iterations_.size() && iterations_[index] < iteration) ++index;
      if (index == iterations_.size()) break;
      if (iterations_[index] != iteration) continue;
      HeatKey& key = keys_[row * columns_ + ((index + 1) * columns_ - 1) / iterations_.size()];
      key = std::max(key, keys[i]);
    }
  }
}

std::optional<std::size_t> HeatMap::column_of(std::uint64_t iteration) const {
  const auto entry = std::ranges::lower_bound(iterations_, iteration);
  if (entry == iterations_.end() || *entry != iteration || columns_ == 0) return std::nullopt;
  return ((static_cast<std::size_t>(entry - iterations_.begin()) + 1) * columns_ - 1) / iterations_.size();
}

}  // namespace tensorstat
