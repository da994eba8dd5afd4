// All 65,536 patterns of float16 and of bfloat16, in every company a pattern can keep.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/support/held_to_oracle.hpp"

namespace tensorstat {
namespace half_patterns_test {

using Patterns = std::vector<std::uint16_t>;
constexpr std::size_t kPatterns = 65536;
// More than a fold takes at a time: its vectors see the pattern, and so does what is left over.
constexpr std::size_t kCopies = 130;

std::string named(std::size_t pattern) { return "pattern " + std::to_string(pattern); }

class HalfPatterns : public testing::TestWithParam<Dtype> {
 protected:
  void SetUp() override { expect_forced_isa_runs(); }

  void add(const std::string& what, const Patterns& patterns) {
    held_.add(what, std::as_bytes(std::span(patterns)), {.offset = 2 * (random_() % 8)});
  }

  samples::Random random_{samples::seed()};
  HeldToOracle held_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Dtype, HalfPatterns, testing::Values(Dtype::kFloat16, Dtype::kBfloat16),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST_P(HalfPatterns, EachAlone) {
  for (std::size_t pattern = 0; pattern < kPatterns; ++pattern) {
    add(named(pattern), {static_cast<std::uint16_t>(pattern)});
  }
  held_.hold();
}

// In the quick test every fourth one, others with another seed.
TEST_P(HalfPatterns, EachRepeated) {
  const std::size_t step = samples::full() ? 1 : 4;
  for (std::size_t pattern = samples::seed() % step; pattern < kPatterns; pattern += step) {
    add(named(pattern), Patterns(kCopies, static_cast<std::uint16_t>(pattern)));
  }
  held_.hold();
}

// Ascending and shuffled, with the NaN and Inf that all of them include, and without.
TEST_P(HalfPatterns, AllTogether) {
  Patterns all, finite;
  const std::size_t infinity = GetParam() == Dtype::kFloat16 ? 0x7c00 : 0x7f80;
  for (std::size_t pattern = 0; pattern < kPatterns; ++pattern) {
    all.push_back(static_cast<std::uint16_t>(pattern));
    if ((pattern & 0x7fff) < infinity) finite.push_back(all.back());
  }
  for (Patterns* patterns : {&all, &finite}) {
    add("ascending", *patterns);
    for (int round = 0; round < 4; ++round) {
      std::shuffle(patterns->begin(), patterns->end(), random_);
      add("shuffled", *patterns);
    }
  }
  held_.hold();
}

TEST_P(HalfPatterns, InPairs) {
  for (int batch = 0; batch < (samples::full() ? 100 : 2); ++batch) {
    for (int i = 0; i < 10'000; ++i) {
      const auto one = static_cast<std::uint16_t>(random_()), other = static_cast<std::uint16_t>(random_());
      Patterns patterns(random_() % 2 != 0 ? 2 : kCopies, one);
      for (std::size_t index = 1; index < patterns.size(); index += 2) patterns[index] = other;
      add("pair " + std::to_string(one) + " " + std::to_string(other), patterns);
    }
    held_.hold();
    if (HasFatalFailure()) return;
  }
}

}  // namespace half_patterns_test
}  // namespace tensorstat
