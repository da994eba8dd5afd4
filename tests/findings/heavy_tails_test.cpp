// Norms with heavy tails are accused of a jump in few series, and a jump in a quiet one is found in all. A jump of a
// smaller batch is none.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "stats/answer/findings/finding_rules.hpp"
#include "stats/answer/findings/series_rules.hpp"

namespace tensorstat {
namespace heavy_tails_test {

constexpr int kSeries = 300, kIterations = 300;

History history_of(const std::vector<double>& norms, std::size_t odd = 0, std::uint64_t count_of_odd = 64) {
  const Categories categories = {Category::kL2norm};
  History history;
  for (std::uint64_t iteration = 0; iteration < norms.size(); ++iteration) {
    const std::vector<Value> values = {norms[iteration]};
    history.add({.op_type = "Gradient",
                 .op_name = "w",
                 .dtype = "float32",
                 .shape = "(64)",
                 .place = {.iteration = iteration},
                 .count = odd != 0 && iteration == odd ? count_of_odd : 64,
                 .statistics = StatisticsView{categories, values}});
  }
  history.finish();
  return history;
}

std::optional<Breach> jump_in(const std::vector<double>& norms) {
  const History history = history_of(norms);
  return judge_jump(history, history.series().front(), facts(FindingRule::kJump).limit, {}, {}).breach;
}

template <typename Next>
int accused(std::mt19937_64& random, Next next) {
  int count = 0;
  for (int i = 0; i < kSeries; ++i) {
    std::vector<double> norms(kIterations);
    for (double& norm : norms) norm = next(random);
    count += jump_in(norms).has_value();
  }
  return count;
}

TEST(HeavyTails, FewSeriesAreAccused) {
  std::mt19937_64 random(20);
  std::student_t_distribution<double> heavy(2);
  std::lognormal_distribution<double> wide(0, 1);
  EXPECT_LE(accused(random, [&](auto& dice) { return std::fabs(heavy(dice)); }), kSeries / 50);
  EXPECT_LE(accused(random, [&](auto& dice) { return wide(dice); }), kSeries / 50);
}

TEST(HeavyTails, AJumpInAQuietSeriesIsFound) {
  std::mt19937_64 random(20);
  std::lognormal_distribution<double> quiet(0, 0.2);
  for (int i = 0; i < kSeries; ++i) {
    std::vector<double> norms(kIterations);
    for (double& norm : norms) norm = quiet(random);
    const std::size_t outlier = 20 + static_cast<std::size_t>(i) % (kIterations - 20);
    norms[outlier] = 20;
    const auto breach = jump_in(norms);
    ASSERT_TRUE(breach.has_value()) << i;
    EXPECT_EQ(breach->cell, outlier);
  }
}

// The gradient of a mean is larger where the batch is smaller: at the end of an epoch.
TEST(HeavyTails, AJumpOfASmallerBatchIsNone) {
  std::vector<double> norms(60, 1);
  norms[40] = 20;
  for (const auto& [count, is_found] : {std::pair{64, true}, {33, true}, {32, false}, {127, true}, {128, false}}) {
    const History history = history_of(norms, 40, static_cast<std::uint64_t>(count));
    const auto judged = judge_jump(history, history.series().front(), facts(FindingRule::kJump).limit, {}, {});
    EXPECT_EQ(judged.breach.has_value(), is_found) << count << " elements instead of 64";
  }
}

}  // namespace heavy_tails_test
}  // namespace tensorstat
