// A history holds each tensor's values on each rank by iteration, whatever the order of the rows, and a layer that runs
// twice in an iteration is two tensors.
#include "stats/answer/findings/history.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace tensorstat {
namespace history_test {

struct Values {
  Categories categories = {Category::kMax, Category::kMin, Category::kL2norm, Category::kNanCount};
  std::vector<Value> values;
  Values(double max, double min, double l2norm, std::uint64_t nan) : values{max, min, l2norm, nan} {}
  operator StatisticsView() const { return {categories, values}; }
};

void add(History& history, std::string_view name, std::uint32_t rank, std::uint64_t iteration, const Values& values,
         std::string_view type = "Linear") {
  history.add({.op_type = type,
               .op_name = name,
               .dtype = "float32",
               .shape = "(2,3)",
               .place = {.rank = rank, .iteration = iteration},
               .count = 6,
               .statistics = values});
}

TEST(History, RowsInAnyOrderBecomeSeriesByIteration) {
  History history;
  for (const std::uint64_t iteration : {5, 3, 4}) {
    for (const std::uint32_t rank : {1, 0}) {
      for (const char* name : {"a", "b"}) {
        add(history, name, rank, iteration, {static_cast<double>(iteration), -9, rank + 1.0, 0});
      }
    }
  }
  history.finish();
  ASSERT_EQ(history.tensors().size(), 2u);
  EXPECT_EQ(history.op_name(1), "b");
  EXPECT_EQ(history.ranks(), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(history.iterations(), (std::vector<std::uint64_t>{3, 4, 5}));
  EXPECT_EQ(history.row_count(), 12u);
  const HistorySeries* series = history.series(1, 1);
  ASSERT_NE(series, nullptr);
  ASSERT_EQ(series->cells.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(history.iteration(series->cells[i]), i + 3);
    EXPECT_EQ(series->cells[i].max, static_cast<double>(i + 3));
    EXPECT_EQ(history.absmax(series->cells[i]), 9);
    EXPECT_EQ(history.size(series->cells[i]), 2);
  }
  EXPECT_EQ(history.series(1, 7), nullptr);
}

TEST(History, ACallThatComesAgainIsATensorOfItsOwn) {
  History history;
  for (std::uint64_t iteration = 0; iteration < 3; ++iteration) {
    for (const double call : {1.0, 2.0}) add(history, "shared", 0, iteration, {call, 0, call, 0});
  }
  history.finish();
  ASSERT_EQ(history.tensors().size(), 2u);
  for (std::uint32_t call = 0; call < 2; ++call) {
    EXPECT_EQ(history.tensors()[call].call, call);
    for (const HistoryCell& cell : history.series(call, 0)->cells) EXPECT_EQ(cell.l2norm, call + 1.0);
  }
}

TEST(History, NanIsKnownByItsCountAndFingerprintsTellBits) {
  History history;
  add(history, "w", 0, 0, {1.5, -1.5, 0.1234567890123, 0}, "Parameter");
  add(history, "w", 1, 0, {1.5, -1.5, 0.1234567890123, 0}, "Parameter");
  add(history, "w", 1, 1, {1.5, -1.5, 0.1234567890124, 1}, "Parameter");
  add(history, "w", 1, 2, {1.5, -1.5, 0.25, 0}, "Parameter");
  history.finish();
  const HistorySeries &on_0 = *history.series(0, 0), &on_1 = *history.series(0, 1);
  EXPECT_EQ(on_0.fingerprints[0], on_1.fingerprints[0]);
  EXPECT_NE(on_1.fingerprints[0], on_1.fingerprints[1]);
  EXPECT_EQ(on_1.fingerprints[2], 0u) << "six digits do not tell the bits";
  EXPECT_FALSE(history.has_nan(on_1.cells[0]));
  EXPECT_TRUE(history.has_nan(on_1.cells[1]));
}

}  // namespace history_test
}  // namespace tensorstat
