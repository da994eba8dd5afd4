// The windows of rules equal their definitions, over random series with NaN, equal values and infinities.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "stats/data/rules/past.hpp"

namespace tensorstat {
namespace rule_windows_test {

std::optional<double> by_definition(WindowOf kind, std::vector<double> last) {  // from the oldest to the newest
  for (const double value : last) {
    if (std::isnan(value)) return value;
  }
  std::vector<double> sorted = last;
  std::ranges::sort(sorted);
  switch (kind) {
    case WindowOf::kMedian:
      return std::midpoint(sorted[(sorted.size() - 1) / 2], sorted[sorted.size() / 2]);
    case WindowOf::kMean:
      return std::accumulate(last.begin(), last.end(), 0.0) / static_cast<double>(last.size());
    case WindowOf::kMax:
      return sorted.back();
    case WindowOf::kMin:
      return sorted.front();
    case WindowOf::kPrevious:
      return last.front();
  }
  return std::nullopt;
}

TEST(RuleWindows, AreTheirDefinitions) {
  constexpr unsigned kSeed = 51;
  RecordProperty("seed", kSeed);
  std::mt19937 random(kSeed);
  const double odd[] = {std::numeric_limits<double>::quiet_NaN(), HUGE_VAL, -HUGE_VAL, -0.0};
  for (const char* word : {"median", "mean", "max", "min", "previous"}) {
    const WindowOf kind = *window_named(word);
    for (std::uint32_t size = 1; size <= 9; ++size) {
      Window window(kind, size);
      std::vector<double> series;
      for (int i = 0; i < 300; ++i) {
        const bool is_full = series.size() >= size;
        const auto value = window.value();
        ASSERT_EQ(value.has_value(), is_full) << word << ' ' << size;
        if (is_full) {
          const auto wanted = by_definition(kind, {series.end() - size, series.end()});
          ASSERT_TRUE(*value == *wanted || (std::isnan(*value) && std::isnan(*wanted)))
              << word << " of " << size << ", value " << i << " of seed " << kSeed << ": " << *value << ", not "
              << *wanted;
        }
        series.push_back(random() % 12 == 0 ? odd[random() % 4] : static_cast<double>(random() % 7) / 4);
        window.push(series.back());
      }
    }
  }
}

TEST(RuleWindows, OtherWordsAreNone) {
  for (const char* word : {"", "Median", "median ", "average", "prev"}) EXPECT_FALSE(window_named(word)) << word;
}

}  // namespace rule_windows_test
}  // namespace tensorstat
