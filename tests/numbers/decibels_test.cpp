// snr and psnr are right where the ratio, the root of it or the error is beyond what binary64 holds, and where it is
// subnormal: held to Python's decimal with 60 digits, and to GMP's rational numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <tensorstat/meter.hpp>
#include <vector>

#include "tests/support/pair_oracle.hpp"

namespace tensorstat {
namespace decibels_test {

constexpr double kInf = std::numeric_limits<double>::infinity(), kLeast = 5e-324;

struct Decibels {
  double snr, psnr;
};

template <typename A, typename B>
Decibels decibels_of(Dtype dtype_a, const std::vector<A>& a, Dtype dtype_b, const std::vector<B>& b) {
  Meter meter({.threads = 1});
  const TensorPair pair{{.dtype = dtype_a, .element_count = a.size(), .address = a.data()},
                        {.dtype = dtype_b, .element_count = b.size(), .address = b.data()}};
  const auto compared = meter.compare({&pair, 1}, {});
  EXPECT_TRUE(compared);
  const auto truth =
      oracle::pair_answers(dtype_a, std::as_bytes(std::span(a)), dtype_b, std::as_bytes(std::span(b)), {}, 0);
  const auto value = [&](PairStatistic which) {
    const double got = std::get<double>(compared->front().finish(which));
    EXPECT_EQ(got, std::get<double>(truth[static_cast<std::size_t>(which)])) << name(which);
    return got;
  };
  return {value(PairStatistic::kSnr), value(PairStatistic::kPsnr)};
}

TEST(Decibels, AreThoseOfExactSums) {
  struct Case {
    std::vector<double> a, b;
    double snr, psnr;
  };
  const Case cases[] = {
      {{1e+308, 0.5}, {1e+308, 0.0}, 6166.0205999132795, 6169.0308998699193},
      {{1e+300, 0.0}, {kLeast, 0.0}, -12466.124306862315, -12463.114006905676},
      {{1.7e+308}, {-1.7e+308}, -6.0205999132796242, -6.0205999132796242},
      {{1.0, kLeast, 0.0, 0.0, 0.0}, {1.0, 0.0, 0.0, 0.0, 0.0}, 6466.1243068623162, 6473.1140069056764},
      {{0x1p-1022, 2 * kLeast, 0.0, 0.0}, {0x1p-1022, 0.0, 0.0, 0.0}, 307.05059557726082, 313.07119549054045},
      {{0x1p-1022, 3 * kLeast, kLeast, 0.0, 0.0, 0.0, 0.0},
       {0x1p-1022, kLeast, 0.0, 0.0, 0.0, 0.0, 0.0},
       306.08149544718026,
       314.53247584732281},
      {{kLeast, 0.0, 0.0}, {0.0, kLeast, 0.0}, -3.0102999566398121, 1.7609125905568124},
      {{1e-300, 1e+300}, {1e-300, -1e+300}, -6.0205999132796242, -3.0102999566398121},
      {{1e+200, 1.0}, {1e-120, 1e-121}, -6399.9567862621734, -6396.9897000433602},
      {{100000.0, 1.0}, {-1e-307, 1e-309}, -6239.9995657276659, -6236.9897000437941},
      {{3.0, 4.0}, {3.0, 4.5}, 20.681858617461618, 22.09515014542631},
  };
  for (const Case& each : cases) {
    const Decibels got = decibels_of(Dtype::kFloat64, each.a, Dtype::kFloat64, each.b);
    EXPECT_NEAR(got.snr, each.snr, std::fabs(each.snr) * 1e-14) << each.a[0] << " " << each.b[0];
    EXPECT_NEAR(got.psnr, each.psnr, 1e-12 + std::fabs(each.psnr) * 1e-14) << each.a[0] << " " << each.b[0];
  }
}

TEST(Decibels, AreInfiniteWhereOneSideIsNothing) {
  const std::vector<double> zero = {0, 0}, some = {kLeast, 0}, large = {1e308, 1e308};
  for (const auto& other : {some, large}) {
    const Decibels no_noise = decibels_of(Dtype::kFloat64, other, Dtype::kFloat64, other);
    EXPECT_EQ(no_noise.snr, kInf);
    EXPECT_EQ(no_noise.psnr, kInf);
    const Decibels no_signal = decibels_of(Dtype::kFloat64, other, Dtype::kFloat64, zero);
    EXPECT_EQ(no_signal.snr, -kInf);
    EXPECT_EQ(no_signal.psnr, -kInf);
  }
}

// The oracle shares no code with the library.
TEST(Decibels, OfAnySizesAreTheOracles) {
  std::mt19937_64 random(20261124);
  for (int round = 0; round < 2000; ++round) {
    std::vector<double> a, b;
    std::vector<std::int64_t> whole;
    const std::size_t count = 1 + random() % 5;
    for (std::size_t i = 0; i < count; ++i) {
      for (std::vector<double>* side : {&a, &b}) {
        const int exponent = static_cast<int>(random() % 2098) - 1074;
        const double size = std::ldexp(1 + static_cast<double>(random() % 1024) / 1024, exponent);
        side->push_back(random() % 4 == 0 ? 0 : random() % 2 == 0 ? size : -size);
      }
      if (random() % 3 == 0) b.back() = a.back();
      whole.push_back(static_cast<std::int64_t>(random()));
    }
    decibels_of(Dtype::kFloat64, a, Dtype::kFloat64, b);
    decibels_of(Dtype::kFloat64, a, Dtype::kInt64, whole);
    decibels_of(Dtype::kInt64, whole, Dtype::kFloat64, b);
    if (HasFailure()) FAIL() << "round " << round;
  }
}

}  // namespace decibels_test
}  // namespace tensorstat
