// The memory of a rule about a tensor's earlier rows: windows of a statistic, and counts of consecutive rows that met
// it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "stats/data/rules/subject.hpp"

namespace tensorstat {

// How a window of values is reduced to one number.
enum class WindowOf : std::uint8_t { kMedian, kMean, kMax, kMin, kPrevious };

// "median"; nullopt for any other word.
std::optional<WindowOf> window_named(std::string_view name);

// The last `size` values of a statistic, in binary64.
class Window {
 public:
  static constexpr std::uint32_t kMostSteps = 10'000;

  Window(WindowOf kind, std::uint32_t size);

  // nullopt while fewer than `size` values are there. NaN if one of them is NaN.
  //   median    the middle one; of an even number the midpoint of both
  //   mean      their sum, from the oldest to the newest, divided by their number
  //   max, min  the greatest, the least
  //   previous  the oldest: the value `size` rows ago
  std::optional<double> value() const;

  void push(double value);

 private:
  const double* sorted() const { return values_.data() + size_; }

  WindowOf kind_;
  std::uint32_t size_, count_ = 0, next_ = 0, nan_count_ = 0;
  // A ring of `size_` values: the oldest is at next_ once it is full. For median, max and min the values that are not
  // NaN stand behind it, sorted. One block: a training has a window for each tensor, and memory is slower than
  // arithmetic.
  std::vector<double> values_;
};

// The memory of one rule for one tensor. Rule::judge() fills it. Copies are independent.
struct RulePast {
  // The last rows in which a condition of "for N steps" was met, and those in which it was met or unknown.
  struct InARow {
    std::uint32_t met = 0, not_refuted = 0;
  };

  std::vector<Window> windows;
  std::vector<InARow> in_a_row;  // for each "for N steps"
  std::uint64_t row_count = 0;

  // The comparison that was met first in the last row. The words nan and inf count as their statistics.
  struct Met {
    Subject subject;
    Value value;
    std::optional<double> limit;  // the value of the window or number that it was compared with
  };
  std::optional<Met> met = {};
};

}  // namespace tensorstat
