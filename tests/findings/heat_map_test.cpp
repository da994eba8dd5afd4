// Each cell of a map shows the worst cell of the run that it covers, at any size: a key computed here from the
// definition, cell by cell, is never above that of the map, and the map's is that of a cell it covers.
#include "stats/answer/findings/heat_map.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace tensorstat {
namespace heat_map_test {

constexpr std::uint64_t kSeed = 5;

// log2 of the value over the median of what is older than 50 iterations, else of the first 50; the definition, slowly.
double change_of(const std::vector<double>& values, std::size_t iteration) {
  const auto median = [](std::vector<double> history) {
    std::erase_if(history, [](double value) { return !std::isfinite(value) || value == 0; });
    for (double& value : history) value = std::log2(std::fabs(value));
    if (history.empty()) return std::pair(0.0, std::size_t{0});
    std::sort(history.begin(), history.end());
    return std::pair(history[(history.size() - 1) / 2], history.size());
  };
  const std::size_t old = iteration > 50 ? iteration - 50 : 0;
  auto [past, count] = median({values.begin(), values.begin() + static_cast<std::ptrdiff_t>(old)});
  if (count < 50) {
    past =
        median({values.begin(), values.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(50, values.size()))})
            .first;
  }
  return std::log2(std::fabs(values[iteration])) - past;
}

TEST(HeatMap, ShowsTheWorstOfWhatACellCovers) {
  std::mt19937_64 random(kSeed);
  std::lognormal_distribution<double> draw(0, 1);
  constexpr std::size_t kTensors = 37, kIterations = 143;
  std::vector<std::vector<double>> values(kTensors, std::vector<double>(kIterations));
  History history;
  const Categories categories = {Category::kMax, Category::kMin, Category::kL2norm};
  for (std::size_t iteration = 0; iteration < kIterations; ++iteration) {
    for (std::size_t tensor = 0; tensor < kTensors; ++tensor) {
      double& value = values[tensor][iteration] = draw(random);
      const std::uint64_t dice = random() % 400;
      if (dice == 0) value = NAN;
      if (dice == 1) value = INFINITY;
      if (dice == 2) value = -INFINITY;
      if (dice < 9 && dice > 2) value = 0;
      const std::vector<Value> numbers = {value > 0 || std::isnan(value) ? value : 0.0,
                                          value < 0 || std::isnan(value) ? value : 0.0, std::fabs(value)};
      history.add({.op_type = "Add",
                   .op_name = "t" + std::to_string(tensor),
                   .dtype = "float32",
                   .shape = "(1)",
                   .place = {.iteration = iteration},
                   .timestamp_us = iteration * kTensors + tensor,
                   .statistics = StatisticsView{categories, numbers}});
    }
  }
  history.finish();
  const auto rank_of = [](double value) {
    return std::isnan(value) ? 5 : std::isinf(value) ? (value > 0 ? 4 : 3) : value == 0 ? 1 : 2;
  };
  for (const auto& [most_rows, most_columns] :
       {std::pair<std::size_t, std::size_t>{37, 143}, {10, 55}, {1, 1}, {80, 300}, {37, 2}}) {
    const HeatMap map(history, {.most_rows = most_rows, .most_columns = most_columns});
    ASSERT_EQ(map.rows(), std::min(most_rows, kTensors));
    ASSERT_EQ(map.columns(), std::min(most_columns, kIterations));
    for (std::size_t row = 0; row < map.rows(); ++row) {
      for (std::size_t column = 0; column < map.columns(); ++column) {
        const std::size_t last_row = row + 1 == map.rows() ? kTensors : map.first_of_row(row + 1);
        const std::size_t last = column + 1 == map.columns() ? kIterations : map.first_of_column(column + 1);
        int look = 0;
        double change = 0;
        for (std::size_t tensor = map.first_of_row(row); tensor < last_row; ++tensor) {
          for (std::size_t iteration = map.first_of_column(column); iteration < last; ++iteration) {
            look = std::max(look, rank_of(values[tensor][iteration]));
            if (rank_of(values[tensor][iteration]) == 2)
              change = std::max(change, std::fabs(change_of(values[tensor], iteration)));
          }
        }
        ASSERT_EQ(static_cast<int>(map.at(row, column).look()), look) << row << ' ' << column << " seed " << kSeed;
        if (look == 2) {
          ASSERT_NEAR(std::fabs(map.at(row, column).change()), change, 0.13)
              << row << ' ' << column << " seed " << kSeed;
        }
      }
    }
  }
}

TEST(HeatMap, MissingRowsAndRanks) {
  History history;
  const Categories categories = {Category::kL2norm};
  const auto add = [&](std::uint32_t rank, std::uint64_t iteration, double value) {
    const std::vector<Value> numbers = {value};
    history.add({.op_type = "Add",
                 .op_name = "a",
                 .dtype = "float32",
                 .shape = "(1)",
                 .place = {.rank = rank, .iteration = iteration},
                 .statistics = StatisticsView{categories, numbers}});
  };
  add(0, 0, 1);
  add(0, 2, 1);
  add(1, 0, 1);
  add(1, 1, NAN);
  history.finish();
  EXPECT_EQ(first_measured(history), HeatValue::kL2norm);
  const HeatMap all(history, {.most_rows = 9, .most_columns = 9});
  EXPECT_EQ(all.at(0, 1).look(), HeatLook::kNan);
  const HeatMap first(history, {.rank = 0, .most_rows = 9, .most_columns = 9});
  EXPECT_EQ(first.at(0, 1).look(), HeatLook::kMissing);
  EXPECT_EQ(first.at(0, 2).look(), HeatLook::kValue);
  const HeatMap later(history, {.first = 1, .last = 1, .most_rows = 9, .most_columns = 9});
  EXPECT_EQ(later.columns(), 1u);
  EXPECT_EQ(later.at(0, 0).look(), HeatLook::kNan);
  EXPECT_EQ(HeatMap(history, {.first = 9, .most_rows = 9, .most_columns = 9}).columns(), 0u);
}

}  // namespace heat_map_test
}  // namespace tensorstat
