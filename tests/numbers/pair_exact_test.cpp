// Every statistic of two tensors is what whole numbers of any length say, rounded once, bit for bit: of every dtype and
// every two of them, cut anywhere, on one thread and on three.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <tensorstat/meter.hpp>

#include "tests/support/engines.hpp"
#include "tests/support/pair_samples.hpp"

namespace tensorstat {
namespace pair_exact_test {

using Bytes = std::vector<std::byte>;

class PairExact : public testing::TestWithParam<Dtype> {
 protected:
  void SetUp() override { expect_forced_isa_runs(); }
  void TearDown() override { std::printf("%zu pairs of %s\n", held_, std::string(name(GetParam())).c_str()); }

  // Compares, at any distance from what a vector likes, and holds every statistic to the oracle.
  void hold(const std::string& what, Dtype dtype_a, const Bytes& of_a, Dtype dtype_b, const Bytes& of_b) {
    const std::uint64_t count = of_a.size() / size_bytes(dtype_a), first_index = random_() % 3 * 1'000'000'007;
    const PairTolerance tolerance = samples::any_tolerance(random_);
    const auto truth = oracle::pair_answers(dtype_a, of_a, dtype_b, of_b, tolerance, first_index);
    const samples::Misaligned a(of_a, random_() % 16), b(of_b, random_() % 16);
    const auto part = [&](std::uint64_t from, std::uint64_t to) {
      return TensorPair{
          {.dtype = dtype_a, .element_count = to - from, .address = a.data() + from * size_bytes(dtype_a)},
          {.dtype = dtype_b, .element_count = to - from, .address = b.data() + from * size_bytes(dtype_b)}};
    };
    const std::string words = what + ", " + std::string(name(dtype_a)) + " and " + std::string(name(dtype_b)) + ", " +
                              std::to_string(count) + " elements, rtol " + std::to_string(tolerance.rtol) + ", seed " +
                              std::to_string(samples::seed());
    for (Meter* meter : {&alone_, &threaded_}) {
      const TensorPair pair = part(0, count);
      const auto whole = meter->compare({&pair, 1}, {tolerance, first_index});
      ASSERT_TRUE(whole) << words << ": " << whole.error().message;
      ASSERT_TRUE(samples::holds(truth, whole->front())) << words;
      // Cut in two, and merged the other way round, it is the same to the byte; so is what was written and read.
      const std::uint64_t cut = random_() % (count + 1);
      const TensorPair later = part(cut, count), earlier = part(0, cut);
      auto merged = meter->compare({&later, 1}, {tolerance, first_index + cut});
      const auto other = meter->compare({&earlier, 1}, {tolerance, first_index});
      ASSERT_TRUE(merged && other) << words;
      ASSERT_TRUE(merged->front().merge(other->front())) << words;
      const auto bytes = whole->front().serialize();
      ASSERT_EQ(merged->front().serialize(), bytes) << words << ", cut at " << cut;
      const auto read = PairPartial::parse(bytes);
      ASSERT_TRUE(read) << words << ": " << read.error().message;
      ASSERT_EQ(read->serialize(), bytes) << words;
      ++held_;
    }
  }

  samples::Random random_{samples::seed() + static_cast<std::uint64_t>(GetParam())};
  Meter alone_{{.threads = 1}}, threaded_{{.threads = 3}};
  std::size_t held_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Dtype, PairExact, testing::ValuesIn(samples::all_dtypes()),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST_P(PairExact, OfOneDtype) {
  constexpr std::size_t kCounts[] = {0, 1, 2, 31, 127, 128, 129, 256, 300};
  const auto distributions = samples::of(GetParam());
  for (int round = 0; round < (samples::full() ? 100 : 1); ++round) {
    for (std::size_t i = 0; i < distributions.size(); ++i) {
      if (!samples::full() && (i + static_cast<std::size_t>(GetParam()) + samples::seed()) % 2 != 0) continue;
      const samples::Distribution& distribution = distributions[i];
      const std::string from(distribution.name);
      const auto draw = [&](std::size_t count) { return distribution.make(GetParam(), count, random_); };
      for (const samples::Partner& partner : samples::kPartners) {
        const Bytes a = draw(kCounts[random_() % std::size(kCounts)]);
        hold(from + " and " + partner.name, GetParam(), a, GetParam(),
             samples::beside(GetParam(), a, partner, random_));
        if (HasFatalFailure()) return;
      }
      for (const std::size_t count : {kCounts[random_() % std::size(kCounts)], std::size_t{1025}}) {
        hold("two of " + from, GetParam(), draw(count), GetParam(), draw(count));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(PairExact, OfTwoDtypes) {
  for (const Dtype other : samples::all_dtypes()) {
    for (int round = 0; round < (samples::full() ? 50 : 1); ++round) {
      const std::size_t count = random_() % 400;
      const Bytes a = samples::any_of(GetParam(), count, random_), b = samples::any_of(other, count, random_);
      hold("any two", GetParam(), a, other, b);
      if (HasFatalFailure()) return;
    }
  }
}

// Sums with terms that cancel to the last bit, or stand beside others that are 10^60 times as large.
TEST_P(PairExact, WhereTermsCancel) {
  if (!is_float(GetParam()) || size_bytes(GetParam()) < 4) return;
  const bool single = GetParam() == Dtype::kFloat32;
  const auto bytes = [&](const std::vector<double>& values) {
    if (!single) return Bytes(std::as_bytes(std::span(values)).begin(), std::as_bytes(std::span(values)).end());
    const std::vector<float> narrow(values.begin(), values.end());
    return Bytes(std::as_bytes(std::span(narrow)).begin(), std::as_bytes(std::span(narrow)).end());
  };
  std::vector<double> a, b;
  for (int i = 0; i < 3000; ++i) {
    const double sign = i % 2 == 0 ? 1 : -1;
    a.push_back(i % 3 == 0 ? 1e30 : sign * 1e-30);
    b.push_back(i % 3 == 0 ? sign * 1e30 : 1e-30);
  }
  hold("1e30 beside 1e-30", GetParam(), bytes(a), GetParam(), bytes(b));
  for (double& x : b) x = random_() % 2 == 0 ? x : -x;
  hold("1e30 beside 1e-30, signs at random", GetParam(), bytes(b), GetParam(), bytes(a));
}

// One element that leaves a block's window or has no number, at each place where a vector or a block begins or ends.
TEST_P(PairExact, WithOneOddElement) {
  const std::size_t size = size_bytes(GetParam()), bits = 8 * size;
  std::vector<std::uint64_t> odd = {0, 1, ~std::uint64_t{0}, std::uint64_t{1} << (bits - 1)};
  if (is_float(GetParam())) {  // the extremes of the exponent, with and without a mantissa
    for (const std::uint64_t exponent : {0b0111'1111, 0b0111'1110, 0b0000'0000, 0b0000'0001, 0b0010'0000}) {
      for (const std::uint64_t rest : {0x00, 0x80, 0xf0, 0x01})
        odd.push_back(size == 1 ? exponent : (exponent << 8 | rest) << (bits - 16));
    }
  } else {  // where binary64, and half of 64 bits, ends
    for (const int power : {23, 31, 45, 46, 50, 51, 52, 53, 62}) {
      for (const int step : {-1, 0, 1}) odd.push_back((std::uint64_t{1} << power) + static_cast<std::uint64_t>(step));
    }
  }
  constexpr std::size_t kCount = 700, kPlaces[] = {0, 1, 7, 8, 15, 16, 31, 32, 63, 64, 127, 128, 511, 512, 640, 699};
  for (const std::uint64_t element : odd) {
    Bytes a = samples::of(GetParam())[0].make(GetParam(), kCount, random_);
    Bytes b = samples::beside(GetParam(), a, samples::kPartners[3], random_);
    const std::size_t place = kPlaces[random_() % std::size(kPlaces)];
    const int which = static_cast<int>(random_() % 3);
    if (which != 0) std::memcpy(&a[place * size], &element, size);
    if (which != 1) std::memcpy(&b[place * size], &element, size);
    hold("odd element at " + std::to_string(place), GetParam(), a, GetParam(), b);
    if (HasFatalFailure()) return;
  }
}

// Pieces of equal bytes, which are folded as one tensor, between pieces that differ.
TEST_P(PairExact, WhereMostBytesAreTheSame) {
  const std::size_t size = size_bytes(GetParam()), count = 30'000 / size;
  for (const samples::Distribution& distribution : samples::of(GetParam())) {
    const Bytes a = distribution.make(GetParam(), count, random_);
    Bytes b = a;
    for (std::size_t left = random_() % 4; left != 0; --left) {
      const std::size_t place = random_() % 2 == 0 ? random_() % count : random_() % (30'000 / 4096) * 4096 / size;
      samples::kPartners[1].change(std::span(b).subspan(place * size, size), random_);
    }
    hold(std::string(distribution.name) + " but for a few", GetParam(), a, GetParam(), b);
    if (HasFatalFailure()) return;
  }
}

TEST_P(PairExact, OverManyPiecesOfWork) {
  if (size_bytes(GetParam()) == 1) return;  // these are cut as the others are
  const auto distributions = samples::of(GetParam());
  const samples::Distribution& distribution = distributions[random_() % (samples::full() ? distributions.size() : 2)];
  const Bytes a = distribution.make(GetParam(), 800'000 / size_bytes(GetParam()) + 11, random_);
  hold(std::string(distribution.name), GetParam(), a, GetParam(),
       samples::beside(GetParam(), a, samples::kPartners[3], random_));
}

}  // namespace pair_exact_test
}  // namespace tensorstat
