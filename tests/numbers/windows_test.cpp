// The sums are exact however many binades the elements of a group span: from one to more than any window holds, at the
// top of the dtype's range, at its bottom and between, with the largest mantissas, and where every group moves a
// window.
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <string>
#include <tensorstat/statistics.hpp>
#include <vector>

#include "precision/sizes.h"
#include "tests/support/held_to_oracle.hpp"

namespace tensorstat {
namespace windows_test {

const Needs kSums = needs(Category::kAvg) | needs(Category::kL2norm) | needs(Category::kL1norm);

class Windows : public testing::TestWithParam<Dtype> {
 protected:
  void SetUp() override { expect_forced_isa_runs(); }

  int any(int from, int to) { return from + static_cast<int>(random_() % static_cast<std::uint64_t>(to - from + 1)); }

  // A group whose stored exponents lie in [lowest, highest], both of which it has; or of one element with the lowest,
  // and else the largest elements there are.
  void put_group(std::vector<std::byte>& bytes, int lowest, int highest, bool is_largest) {
    const int at_bottom = any(0, GROUP - 1), at_top = (at_bottom + any(1, GROUP - 1)) % GROUP;
    for (int i = 0; i < GROUP; ++i) {
      const int exponent = i == at_bottom ? lowest : i == at_top || is_largest ? highest : any(lowest, highest);
      const std::uint64_t most = (std::uint64_t{1} << shift_) - 1, raw = random_();
      const std::uint64_t fraction = is_largest ? most : std::max<std::uint64_t>(raw & most, exponent == 0);
      const std::uint64_t sign = is_largest ? 0 : raw >> 63 << (bits_ - 1);
      const std::uint64_t element = sign | static_cast<std::uint64_t>(exponent) << shift_ | fraction;
      const auto* from = reinterpret_cast<const std::byte*>(&element);
      bytes.insert(bytes.end(), from, from + bits_ / 8);
    }
  }

  const int bits_ = 8 * static_cast<int>(size_bytes(GetParam()));
  const int shift_ = GetParam() == Dtype::kFloat16    ? 10
                     : GetParam() == Dtype::kBfloat16 ? 7
                     : GetParam() == Dtype::kFloat32  ? 23
                                                      : 52;
  const int last_ = (1 << (bits_ - 1 - shift_)) - 2;  // the largest exponent of a finite element
  samples::Random random_{samples::seed() + static_cast<std::uint64_t>(GetParam())};
};
INSTANTIATE_TEST_SUITE_P(Dtype, Windows,
                         testing::Values(Dtype::kFloat16, Dtype::kBfloat16, Dtype::kFloat32, Dtype::kFloat64),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST_P(Windows, GroupsOfEverySpan) {
  HeldToOracle cases(GetParam());
  const int most = std::min(last_, 64);
  for (int span = 0; span <= most; ++span) {
    for (const bool is_largest : {true, false}) {
      std::vector<std::byte> bytes;
      for (const int lowest : {0, 1, last_ / 2 - span / 2, last_ - span})
        put_group(bytes, lowest, lowest + span, is_largest);
      for (int group = 0; group < 24; ++group) {  // in runs, so that some windows hold several groups
        const int lowest = any(0, last_ - span);
        for (int i = any(1, 8); i > 0; --i) put_group(bytes, lowest, lowest + span, is_largest);
      }
      cases.add((is_largest ? "the largest, span " : "span ") + std::to_string(span), bytes,
                HeldToOracle::Way{0, kSums});
    }
  }
  cases.hold();
}

TEST_P(Windows, GroupsOfAllSpansInTurns) {
  HeldToOracle cases(GetParam());
  for (int round = 0; round < 20; ++round) {
    std::vector<std::byte> bytes;
    for (int group = 0; group < 200; ++group) {
      const int span = any(0, std::min(last_, round < 10 ? 30 : 64)), lowest = any(0, last_ - span);
      put_group(bytes, lowest, lowest + span, any(0, 3) == 0);
      if (any(0, 15) == 0)
        std::memset(&bytes[bytes.size() - static_cast<std::size_t>(bits_ / 8)], 0xff, bits_ / 8);  // a NaN
    }
    cases.add("round " + std::to_string(round), bytes,
              HeldToOracle::Way{static_cast<std::size_t>(any(0, 3) * bits_ / 8), kSums});
  }
  cases.hold();
}

// As many additions as a window allows, of the largest elements it holds.
TEST_P(Windows, FullOfTheLargest) {
  HeldToOracle cases(GetParam());
  for (const int lowest : {1, last_ / 2, last_ - 24}) {
    for (const int span : {12, 14, 17, 18, 19, 20, 24}) {
      if (lowest < 0 || lowest + span > last_) continue;
      std::vector<std::byte> bytes;
      put_group(bytes, lowest, lowest + span, true);  // places the window
      for (int group = 0; group < 560; ++group) put_group(bytes, lowest + span, lowest + span, true);
      cases.add("from " + std::to_string(lowest) + ", span " + std::to_string(span), bytes,
                HeldToOracle::Way{0, kSums});
    }
  }
  cases.hold();
}

// The same in two windows at once: the largest elements of two exponents, in turns.
TEST_P(Windows, FullOfTheLargestOfTwo) {
  HeldToOracle cases(GetParam());
  for (const int distance : {14, 15, 19, 20, 21, 22, 23, 40, 41, 42, 60}) {
    if (distance >= last_) continue;
    std::vector<std::byte> bytes;
    for (int group = 0; group < 280; ++group) {
      put_group(bytes, last_, last_, true);
      put_group(bytes, last_ - distance, last_ - distance, true);
    }
    cases.add("distance " + std::to_string(distance), bytes, HeldToOracle::Way{0, kSums});
  }
  cases.hold();
}

// A fold takes 1,024 elements at a time and may have to go back. One element of such a block is of another kind, at
// either end or between; then one of each block, so that the fold expects it.
TEST_P(Windows, OneOddElementInABlock) {
  HeldToOracle cases(GetParam());
  constexpr int kGroups = 1024 / GROUP;
  const auto size = static_cast<std::size_t>(bits_ / 8);
  const int middle = last_ / 2, lowest = std::max(middle - 40, 1);
  const auto of_exponent = [&](int exponent) { return static_cast<std::uint64_t>(exponent) << shift_; };
  const std::uint64_t infinity = of_exponent(last_ + 1), sign = std::uint64_t{1} << (bits_ - 1);
  const std::uint64_t odd[] = {infinity + 1, infinity, sign | infinity,     0,
                               sign,         1,        of_exponent(lowest), of_exponent(std::max(middle - 16, 1)),
                               infinity - 1};
  for (const std::uint64_t element : odd) {
    for (const int position : {0, 1, 127, 128, 700, 1023, -1}) {
      std::vector<std::byte> bytes;
      const int blocks = position < 0 ? 18 : 4;
      for (int group = 0; group < blocks * kGroups; ++group) put_group(bytes, middle - 5, middle, false);
      for (int block = 1; block < (position < 0 ? blocks : 2); ++block) {
        const int place = block * kGroups * GROUP + (position < 0 ? any(0, kGroups * GROUP - 1) : position);
        std::memcpy(&bytes[static_cast<std::size_t>(place) * size], &element, size);
      }
      cases.add(std::to_string(element) + " at " + std::to_string(position), bytes, HeldToOracle::Way{});
    }
  }
  cases.hold();
}

// NaN and Inf in every group, in every second, in runs, only in the last and as whole groups, among elements that a
// window holds or does not. A fold expects a group to be as the one before it was; some are here, and some are not.
TEST_P(Windows, GroupsWithNanAndInf) {
  HeldToOracle cases(GetParam());
  const std::size_t size = static_cast<std::size_t>(bits_ / 8);
  const auto put = [&](std::vector<std::byte>& bytes, std::size_t index, std::uint64_t element) {
    std::memcpy(&bytes[index * size], &element, size);
  };
  const std::uint64_t infinity = static_cast<std::uint64_t>(last_ + 1) << shift_;
  const std::uint64_t sign = std::uint64_t{1} << (bits_ - 1);
  const std::uint64_t specials[] = {infinity + 1, sign | (infinity + infinity / 2), infinity, sign | infinity};
  constexpr int kGroups = 24;
  const std::vector<std::pair<const char*, bool (*)(int)>> orders = {
      {"every group", [](int) { return true; }},
      {"every second", [](int i) { return i % 2 == 1; }},
      {"runs", [](int i) { return i / 5 % 2 == 0; }},
      {"the last", [](int i) { return i == kGroups - 1; }}};
  for (const auto& [order, has_specials] : orders) {
    for (const int kinds : {1, 2, 4}) {  // one NaN; NaN of both signs; infinities beside them
      for (const int one_in : {1, 2, 10, 1000}) {
        for (const int span : {0, 6, std::min(last_, 64)}) {
          std::vector<std::byte> bytes;
          int lowest = any(0, last_ - span);
          for (int group = 0; group < kGroups; ++group) {
            if (span > 6) lowest = any(0, last_ - span);
            put_group(bytes, lowest, lowest + span, false);
            for (int i = group * GROUP; i < (group + 1) * GROUP; ++i) {
              const auto index = static_cast<std::size_t>(i);
              if (group / 8 == 1 && any(0, 7) == 0) put(bytes, index, any(0, 1) == 0 ? 0 : sign);
              if (has_specials(group) && any(1, one_in) == 1) put(bytes, index, specials[any(0, kinds - 1)]);
            }
          }
          cases.add(std::string(order) + ", 1 in " + std::to_string(one_in) + ", span " + std::to_string(span), bytes,
                    HeldToOracle::Way{static_cast<std::size_t>(any(0, 3)) * size});
        }
      }
    }
  }
  cases.hold();
}

}  // namespace windows_test
}  // namespace tensorstat
