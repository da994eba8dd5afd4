// Invalid pairs of tensors are refused before they are read. Bytes that are not from a pair are refused as a partial.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <tensorstat/meter.hpp>

#include "stats/core/engine/pair_layout.hpp"
#include "tests/support/record_of.hpp"

namespace tensorstat {
namespace pair_refusals_test {

constexpr float kThree[] = {1, 2, 3};
const Tensor kTensor{.dtype = Dtype::kFloat32, .element_count = 3, .address = kThree};

std::string refusal(const TensorPair& pair, const PairRequest& request = {}) {
  const TensorPair pairs[] = {{kTensor, kTensor}, pair};
  const auto result = Meter().compare(pairs, request);
  if (result) return "not refused";
  EXPECT_EQ(static_cast<int>(result.error().code), static_cast<int>(Code::kInvalid));
  return result.error().message;
}

TEST(PairRefusals, NameThePairAndTheTensor) {
  Tensor other = kTensor;
  other.element_count = 2;
  EXPECT_EQ(refusal({kTensor, other}), "pair 1: a has 3 elements and b has 2");
  other = kTensor;
  other.address = nullptr;
  EXPECT_EQ(refusal({kTensor, other}), "pair 1: b: its address is null, and it has 3 elements");
  EXPECT_EQ(refusal({kTensor, kTensor}, {.first_index = (std::uint64_t{1} << 63) - 3}),
            "pair 0: its last index is 2^63 or more");
}

TEST(PairRefusals, OfATolerance) {
  for (const double wrong : {-1.0, std::nan(""), HUGE_VAL}) {
    EXPECT_EQ(refusal({kTensor, kTensor}, {{wrong, 0}}), "rtol and atol are finite numbers from 0");
    EXPECT_EQ(refusal({kTensor, kTensor}, {{0, wrong}}), "rtol and atol are finite numbers from 0");
  }
}

TEST(PairRefusals, OfWhatDoesNotMerge) {
  PairPartial one(Dtype::kFloat32, Dtype::kFloat32, {});
  EXPECT_FALSE(one.merge(PairPartial(Dtype::kFloat32, Dtype::kFloat16, {})));
  EXPECT_FALSE(one.merge(PairPartial(Dtype::kFloat32, Dtype::kFloat32, {.rtol = 1})));
  EXPECT_TRUE(one.merge(one));
}

// A partial with one changed byte is another valid partial, which is written as it was read, or is refused with a
// message.
TEST(PairRefusals, OfBytesThatNoPairLeft) {
  const unsigned seed = 20261122;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const TensorPair pair{kTensor, kTensor};
  const auto good = Meter().compare({&pair, 1})->front().serialize();
  ASSERT_TRUE(PairPartial::parse(good));
  EXPECT_FALSE(PairPartial::parse(std::span(good).first(good.size() - 8)));
  EXPECT_FALSE(PairPartial::parse({}));
  int refused = 0;
  for (std::size_t offset = 0; offset < good.size(); ++offset) {
    auto bytes = good;
    bytes[offset] ^= static_cast<std::byte>(1 + random() % 255);
    const auto parsed = PairPartial::parse(bytes);
    if (parsed) {
      EXPECT_EQ(parsed->serialize(), bytes) << offset;
      for (int i = 0; i < kPairStatisticCount; ++i) to_string(parsed->finish(static_cast<PairStatistic>(i)));
      PairPartial twice = *parsed;
      (void)twice.merge(*parsed);
    } else {
      EXPECT_EQ(parsed.error().message.find("not a pair's partial: "), 0u);
      ++refused;
    }
  }
  EXPECT_GT(refused, 100);
}

TEST(PairRefusals, OfANameThatThisVersionDoesNotKnow) {
  auto bytes = PairPartial(Dtype::kFloat32, Dtype::kFloat32, {}).serialize();
  bytes[record_of(bytes, "ULP", 32) + 1] = std::byte{'V'};
  const auto parsed = PairPartial::parse(bytes);
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().message, "not a pair's partial: a partial with 'VLP', which this version does not know");
}

TEST(PairRefusals, OfEarlierForms) {
  auto bytes = PairPartial(Dtype::kFloat32, Dtype::kFloat32, {}).serialize();
  bytes[7] = std::byte{'1'};
  const auto parsed = PairPartial::parse(bytes);
  ASSERT_FALSE(parsed);
  EXPECT_NE(parsed.error().message.find("another version"), std::string::npos) << parsed.error().message;
}

// Sums that 2^63 elements cannot have, and sums that would make the distance of a and b imaginary.
TEST(PairRefusals, OfSumsThatNoPairHas) {
  const TensorPair pair{kTensor, kTensor};
  const auto good = Meter().compare({&pair, 1})->front().serialize();
  const auto sums = pair_layout(Dtype::kFloat32, Dtype::kFloat32).sums();
  const auto refusal_with = [&](std::size_t sum, std::int64_t last) {
    auto bytes = good;
    constexpr std::string_view kNames[] = {"PRODUCTS", "SQUARES_A", "SQUARES_B", "DISTANCES"};
    static_assert(std::size(kNames) == PAIR_SUMS);
    const std::size_t offset = payload_of(good, kNames[sum], 32) + 8 * (sums[sum].count - 1);
    std::memcpy(&bytes[offset], &last, sizeof last);
    const auto parsed = PairPartial::parse(bytes);
    return parsed ? "" : parsed.error().message;
  };
  const auto says = [](const std::string& message, const char* words) { return message.find(words) != message.npos; };
  for (std::size_t sum = 0; sum < PAIR_SUMS; ++sum) {
    for (const std::int64_t last : {std::int64_t{1} << 60, std::int64_t{1} << 62, -(std::int64_t{1} << 62)}) {
      EXPECT_TRUE(says(refusal_with(sum, last), "a sum is beyond all tensors")) << sum << " " << last;
    }
  }
  for (const std::int64_t last : {1, -1}) {
    EXPECT_TRUE(says(refusal_with(PAIR_SUM_PRODUCTS, last), "its products and squares contradict each other")) << last;
  }
  EXPECT_TRUE(says(refusal_with(PAIR_SUM_SQUARES_A, -1), "a sum that cannot be negative is"));
}

}  // namespace pair_refusals_test
}  // namespace tensorstat
