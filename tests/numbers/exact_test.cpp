// Every category of every tensor is the exact value, rounded once: bit for bit what rational
// arithmetic says, on every engine, for every dtype, awkward size, misalignment and distribution.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "tests/support/held_to_oracle.hpp"

namespace tensorstat {
namespace exact_test {

class Exact : public testing::TestWithParam<Dtype> {
 protected:
  void SetUp() override { expect_forced_isa_runs(); }
  void TearDown() override {
    std::printf("%zu cases of %s\n", held_.case_count(), std::string(name(GetParam())).c_str());
  }

  std::size_t any_offset() { return random_() % 16; }

  samples::Random random_{samples::seed() + static_cast<std::uint64_t>(GetParam())};
  HeldToOracle held_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Dtype, Exact, testing::ValuesIn(samples::all_dtypes()),
                         [](const auto& info) { return std::string(name(info.param)); });

// In full, a million cases and more; else every second distribution, others for the next dtype.
TEST_P(Exact, AtEveryAwkwardSizeAndOffset) {
  const auto distributions = samples::of(GetParam());
  for (int round = 0; round < (samples::full() ? 16 : 1); ++round) {
    for (std::size_t i = 0; i < distributions.size(); ++i) {
      if (!samples::full() && (i + static_cast<std::size_t>(GetParam()) + samples::seed()) % 2 != 0) continue;
      const samples::Distribution& distribution = distributions[i];
      for (const std::size_t count : samples::awkward_counts()) {
        std::vector<HeldToOracle::Way> ways = {{any_offset(), any_needs(GetParam(), random_)}};
        if (count > 4000) {
          ways.push_back({any_offset()});
        } else {
          for (std::size_t offset = 0; offset < 16; ++offset) ways.push_back({offset});
        }
        held_.add(std::string(distribution.name), distribution.make(GetParam(), count, random_), ways);
      }
      held_.hold(random_() % 4 == 0);
      if (HasFatalFailure()) return;
    }
  }
}

// What does not fill a group of 128 is folded in other ways, by its length and its last element.
TEST_P(Exact, AtEveryLengthUpToThreeGroups) {
  const auto distributions = samples::of(GetParam());
  for (std::size_t count = 0; count <= 384; ++count) {
    const auto& distribution = distributions[count % distributions.size()];
    held_.add(std::string(distribution.name), distribution.make(GetParam(), count, random_), {any_offset()});
  }
  held_.hold();
}

TEST_P(Exact, OverManyPiecesOfWork) {
  const auto distributions = samples::of(GetParam());
  for (std::size_t i = 0; i < distributions.size(); i += samples::full() ? 1 : 3) {
    held_.add(std::string(distributions[i].name), distributions[i].make(GetParam(), 1'000'003, random_),
              {any_offset()});
    held_.hold();
    if (HasFatalFailure()) return;
  }
}

}  // namespace exact_test
}  // namespace tensorstat
