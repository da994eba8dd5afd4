#include "stats/data/rules/past.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace tensorstat {
namespace {

constexpr std::pair<std::string_view, WindowOf> kWindows[] = {{"median", WindowOf::kMedian},
                                                              {"mean", WindowOf::kMean},
                                                              {"max", WindowOf::kMax},
                                                              {"min", WindowOf::kMin},
                                                              {"previous", WindowOf::kPrevious}};

bool is_of_order(WindowOf kind) { return kind <= WindowOf::kMin && kind != WindowOf::kMean; }

// std::lower_bound without branches: where a value belongs is not to be foreseen.
std::size_t first_not_below(const double* sorted, std::size_t count, double value) {
  std::size_t first = 0;
  while (count != 0) {
    const std::size_t half = (count + 1) / 2;
    first += sorted[first + half - 1] < value ? half : 0;
    count -= half;
  }
  return first;
}

}  // namespace

std::optional<WindowOf> window_named(std::string_view name) {
  const auto* entry = std::ranges::find(kWindows, name, &std::pair<std::string_view, WindowOf>::first);
  if (entry == std::end(kWindows)) return std::nullopt;
  return entry->second;
}

Window::Window(WindowOf kind, std::uint32_t size) : kind_(kind), size_(size) {}

void Window::push(double value) {
  if (values_.empty()) values_.resize(is_of_order(kind_) ? 2 * std::size_t{size_} : size_);
  const bool is_full = count_ == size_;
  double& slot = values_[is_full ? next_ : count_];
  const double oldest = std::exchange(slot, value);
  const std::size_t sorted_count = count_ - nan_count_;
  if (is_full) {
    if (++next_ == size_) next_ = 0;
  } else {
    ++count_;
  }
  const bool is_removed = is_full && !std::isnan(oldest), is_added = !std::isnan(value);
  nan_count_ += static_cast<std::uint32_t>(!is_added);
  nan_count_ -= static_cast<std::uint32_t>(is_full && !is_removed);
  if (!is_of_order(kind_)) return;
  // To sort the window for each row would take ten times as long.
  double* const sorted = values_.data() + size_;
  const std::size_t from = is_removed ? first_not_below(sorted, sorted_count, oldest) : sorted_count;
  const std::size_t to = is_added ? first_not_below(sorted, sorted_count, value) : sorted_count;
  if (is_added && to <= from) {
    std::copy_backward(sorted + to, sorted + from, sorted + from + 1);
    sorted[to] = value;
  } else if (is_removed) {
    std::copy(sorted + from + 1, sorted + to, sorted + from);
    if (is_added) sorted[to - 1] = value;
  }
}

std::optional<double> Window::value() const {
  if (count_ != size_) return std::nullopt;
  if (nan_count_ != 0) return std::numeric_limits<double>::quiet_NaN();
  switch (kind_) {
    case WindowOf::kMedian:
      return std::midpoint(sorted()[(size_ - 1) / 2], sorted()[size_ / 2]);
    case WindowOf::kMean: {
      double sum = 0;
      for (std::uint32_t i = 0; i < size_; ++i) sum += values_[i + next_ < size_ ? i + next_ : i + next_ - size_];
      return sum / size_;
    }
    case WindowOf::kMax:
      return sorted()[size_ - 1];
    case WindowOf::kMin:
      return sorted()[0];
    case WindowOf::kPrevious:
      return values_[next_];
  }
  return std::nullopt;
}

}  // namespace tensorstat
