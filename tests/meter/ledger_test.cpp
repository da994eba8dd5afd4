// The ledger never holds more than the budget, and its figures equal the sum of its entries.
#include "stats/core/engine/ledger.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <random>
#include <thread>
#include <vector>

namespace tensorstat {
namespace ledger_test {

TEST(Ledger, RefusesWhatExceedsTheBudget) {
  Ledger ledger(100);
  EXPECT_TRUE(ledger.reserve(60));
  EXPECT_FALSE(ledger.reserve(41));
  EXPECT_FALSE(ledger.reserve(std::numeric_limits<std::uint64_t>::max())) << "no sum may wrap";
  EXPECT_EQ(60u, ledger.use().current_bytes) << "what was refused is not held";
  EXPECT_EQ(40u, ledger.free_bytes());
  EXPECT_TRUE(ledger.reserve(40)) << "to the last byte";
  EXPECT_EQ(0u, ledger.free_bytes());
  EXPECT_FALSE(ledger.reserve(1));
  EXPECT_TRUE(ledger.reserve(0));
}

TEST(Ledger, KeepsThePeak) {
  Ledger ledger(100);
  ASSERT_TRUE(ledger.reserve(70));
  ledger.release(50);
  ASSERT_TRUE(ledger.reserve(30));
  EXPECT_EQ(50u, ledger.use().current_bytes);
  EXPECT_EQ(70u, ledger.use().peak_bytes);
}

TEST(Ledger, OfNoBudgetAllowsAnything) {
  Ledger ledger(std::nullopt);
  EXPECT_TRUE(ledger.reserve(std::uint64_t{1} << 60));
  EXPECT_GE(ledger.free_bytes(), std::uint64_t{1} << 60);
  EXPECT_EQ(std::uint64_t{1} << 60, ledger.use().peak_bytes);
}

TEST(Ledger, OfABudgetOfNothingAllowsNothing) {
  Ledger ledger(0);
  EXPECT_FALSE(ledger.reserve(1));
  EXPECT_EQ(0u, ledger.free_bytes());
}

// Each thread counts what it holds. Together they never hold more than the budget.
TEST(Ledger, HoldsTheBudgetAmongThreads) {
  constexpr std::uint64_t kBudget = 1000;
  Ledger ledger(kBudget);
  std::atomic<std::uint64_t> sum{0};
  std::atomic<bool> exceeded{false};
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed) {
    threads.emplace_back([&, seed] {
      std::mt19937 random(seed);
      for (int i = 0; i < 20'000; ++i) {
        const std::uint64_t bytes = random() % 400;
        if (!ledger.reserve(bytes)) continue;
        if (sum.fetch_add(bytes) + bytes > kBudget) exceeded = true;
        sum.fetch_sub(bytes);
        ledger.release(bytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(exceeded);
  EXPECT_EQ(0u, ledger.use().current_bytes);
  EXPECT_LE(ledger.use().peak_bytes, kBudget);
}

}  // namespace ledger_test
}  // namespace tensorstat
