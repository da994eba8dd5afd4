#include "stats/rules/past.hpp"

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

}  // namespace

std::optional<WindowOf> window_named(std::string_view name) {
  const auto* found = std::ranges::find(kWindows, name, &std::pair<std::string_view, WindowOf>::first);
  if (found == std::end(kWindows)) return std::nullopt;
  return found->second;
}

Window::Window(WindowOf kind, std::uint32_t size) : kind_(kind), size_(size) {}

void Window::push(double value) {
  const bool is_full = values_.size() == size_;
  const double oldest = is_full ? values_[next_] : 0;
  if (is_full) {
    values_[next_] = value;
    if (++next_ == size_) next_ = 0;
  } else {
    values_.push_back(value);
  }
  nan_count_ += std::isnan(value);
  nan_count_ -= is_full && std::isnan(oldest);
  if (!is_of_order(kind_)) return;
  // A sorted copy is kept: to sort the window for each row would take ten times as long.
  if (is_full && !std::isnan(oldest)) sorted_.erase(std::ranges::lower_bound(sorted_, oldest));
  if (!std::isnan(value)) sorted_.insert(std::ranges::upper_bound(sorted_, value), value);
}

std::optional<double> Window::value() const {
  if (values_.size() != size_) return std::nullopt;
  if (nan_count_ != 0) return std::numeric_limits<double>::quiet_NaN();
  switch (kind_) {
    case WindowOf::kMedian:
      return std::midpoint(sorted_[(size_ - 1) / 2], sorted_[size_ / 2]);
    case WindowOf::kMean: {
      double sum = 0;
      for (std::uint32_t i = 0; i < size_; ++i) sum += values_[i + next_ < size_ ? i + next_ : i + next_ - size_];
      return sum / size_;
    }
    case WindowOf::kMax:
      return sorted_.back();
    case WindowOf::kMin:
      return sorted_.front();
    case WindowOf::kPrevious:
      return values_[next_];
  }
  return std::nullopt;
}

}  // namespace tensorstat
