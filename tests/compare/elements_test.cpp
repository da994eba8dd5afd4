// Tensors compared element by element, and the verdict on them: every code of each small
// float against the definition of its format, pieces cut anywhere, 64-bit integers that binary64 cannot hold.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <tensorstat/meter.hpp>

#include "stats/answer/compare/element_comparison.hpp"

namespace tensorstat {
namespace elements_test {

template <typename T>
std::span<const std::byte> bytes(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

// The partial of two tensors that begin at an index of larger ones.
PairPartial compared(Dtype a, std::span<const std::byte> of_a, Dtype b, std::span<const std::byte> of_b,
                     const PairTolerance& tolerance = {}, std::uint64_t first_index = 0) {
  static Meter meter;
  const TensorPair pair{{.dtype = a, .element_count = of_a.size() / size_bytes(a), .address = of_a.data()},
                        {.dtype = b, .element_count = of_b.size() / size_bytes(b), .address = of_b.data()}};
  auto partials = meter.compare({&pair, 1}, {tolerance, first_index});
  EXPECT_TRUE(partials);
  return std::move(partials->front());
}

template <typename A, typename B>
PairPartial compared(Dtype a, const std::vector<A>& of_a, Dtype b, const std::vector<B>& of_b,
                     const PairTolerance& tolerance = {}) {
  return compared(a, bytes(of_a), b, bytes(of_b), tolerance);
}

std::uint64_t count(const PairPartial& partial, PairStatistic statistic) {
  return std::get<std::uint64_t>(partial.finish(statistic));
}
double real(const PairPartial& partial, PairStatistic statistic) { return std::get<double>(partial.finish(statistic)); }

constexpr PairTolerance within(double rtol) { return {rtol, 0, PairTolerance::Scale::kGreater}; }

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();

TEST(Elements, ThatChangedPlacesAreFound) {
  const std::vector<float> a = {1, 2, 3, 4}, b = {1, 3, 2, 4};
  const auto partial = compared(Dtype::kFloat32, a, Dtype::kFloat32, b, within(0.1));
  EXPECT_EQ(count(partial, PairStatistic::kCount), 4u);
  EXPECT_EQ(count(partial, PairStatistic::kUnequalCount), 2u);
  EXPECT_EQ(count(partial, PairStatistic::kFirstUnequalIndex), 1u);
  EXPECT_EQ(real(partial, PairStatistic::kMaxAbsDiff), 1);
  EXPECT_EQ(count(partial, PairStatistic::kMaxAbsDiffIndex), 1u);
  EXPECT_EQ(real(partial, PairStatistic::kMaxRelDiff), 1.0 / 3);
  const Judgement judgement = judgement_of(partial);
  EXPECT_EQ(judgement.verdict, Verdict::kDifferent);
  EXPECT_EQ(judgement.difference, 1.0 / 3);
  EXPECT_EQ(judgement.why, "2 of 4 elements, first at 1");
}

TEST(Elements, OfSpecialValues) {
  const std::vector<double> a = {kNan, kInf, -0.0, 1, kInf, kNan}, b = {-kNan, kInf, 0.0, kNan, -kInf, 5};
  const auto partial = compared(Dtype::kFloat64, a, Dtype::kFloat64, b, within(1e300));
  EXPECT_EQ(count(partial, PairStatistic::kOutsideCount), 3u);
  EXPECT_EQ(count(partial, PairStatistic::kFirstOutsideIndex), 3u);
  EXPECT_EQ(real(partial, PairStatistic::kMaxAbsDiff), kInf);
  EXPECT_EQ(count(partial, PairStatistic::kMaxAbsDiffIndex), 3u);
  EXPECT_EQ(count(partial, PairStatistic::kUnequalCount), 5u) << "by bits: only Inf and Inf are equal";
}

TEST(Elements, OfOtherBitsAndEqualValuesAreWithin) {
  const auto zeros = compared(Dtype::kFloat32, std::vector<float>{-0.0f}, Dtype::kFloat32, std::vector<float>{0.0f});
  EXPECT_EQ(judgement_of(zeros).verdict, Verdict::kWithin);
  const auto dtypes = compared(Dtype::kFloat32, std::vector<float>{1}, Dtype::kFloat64, std::vector<double>{1});
  EXPECT_EQ(judgement_of(dtypes).verdict, Verdict::kWithin);
  const auto same = compared(Dtype::kFloat32, std::vector<float>{1}, Dtype::kFloat32, std::vector<float>{1});
  EXPECT_EQ(judgement_of(same).verdict, Verdict::kEqual);
}

TEST(Elements, OfIntegersThatADoubleCannotHold) {
  const std::int64_t big = std::numeric_limits<std::int64_t>::max();
  const auto near = compared(Dtype::kInt64, std::vector<std::int64_t>{big, -big}, Dtype::kInt64,
                             std::vector<std::int64_t>{big - 1, -big});
  EXPECT_EQ(count(near, PairStatistic::kUnequalCount), 1u);
  EXPECT_EQ(real(near, PairStatistic::kMaxAbsDiff), 1);
  const auto far = compared(Dtype::kUint64, std::vector<std::uint64_t>{~std::uint64_t{0}}, Dtype::kInt64,
                            std::vector<std::int64_t>{-big - 1});
  EXPECT_EQ(real(far, PairStatistic::kMaxAbsDiff), 0x1.8p64);
  const auto mixed = compared(Dtype::kInt64, std::vector<std::int64_t>{(std::int64_t{1} << 53) + 1}, Dtype::kFloat64,
                              std::vector<double>{0x1p53});
  EXPECT_EQ(real(mixed, PairStatistic::kMaxAbsDiff), 1);
}

// Every code of a format, beside its value as binary64 by the definition of the format, in arithmetic that shares
// nothing with the library's.
void expect_codes(Dtype dtype, int bits, int mantissa, int bias, bool has_inf, bool negative_zero_is_nan) {
  for (int code = 0; code < 1 << bits; ++code) {
    const bool negative = code >> (bits - 1);
    const int rest = code & ((1 << (bits - 1)) - 1), exponent = rest >> mantissa,
              all = (1 << (bits - 1 - mantissa)) - 1;
    const double fraction = static_cast<double>(rest & ((1 << mantissa) - 1)) / (1 << mantissa);
    double value = exponent == 0 ? std::pow(2.0, 1 - bias) * fraction : std::pow(2.0, exponent - bias) * (1 + fraction);
    if (has_inf && exponent == all) value = fraction == 0 ? kInf : kNan;
    if (!has_inf && !negative_zero_is_nan && rest == (1 << (bits - 1)) - 1) value = kNan;
    if (negative) value = -value;
    if (negative_zero_is_nan && code == 1 << (bits - 1)) value = kNan;
    const std::vector<double> expected = {value};
    const auto partial =
        bits == 8
            ? compared(dtype, std::vector<std::uint8_t>{static_cast<std::uint8_t>(code)}, Dtype::kFloat64, expected)
            : compared(dtype, std::vector<std::uint16_t>{static_cast<std::uint16_t>(code)}, Dtype::kFloat64, expected);
    ASSERT_EQ(count(partial, PairStatistic::kUnequalCount), 0u)
        << name(dtype) << " code " << code << " is not " << value;
  }
}

TEST(Elements, OfEveryCodeOfEverySmallFloat) {
  expect_codes(Dtype::kFloat16, 16, 10, 15, true, false);
  expect_codes(Dtype::kBfloat16, 16, 7, 127, true, false);
  expect_codes(Dtype::kFloat8E4m3fn, 8, 3, 7, false, false);
  expect_codes(Dtype::kFloat8E5m2, 8, 2, 15, true, false);
  expect_codes(Dtype::kFloat8E4m3fnuz, 8, 3, 8, false, true);
  expect_codes(Dtype::kFloat8E5m2fnuz, 8, 2, 16, false, true);
}

TEST(Elements, ComeInAnyPieces) {
  const unsigned seed = 20261122;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::vector<float> a(1000), b;
  for (float& x : a) x = std::normal_distribution<float>()(random);
  b = a;
  for (int i = 0; i < 20; ++i) b[random() % b.size()] *= 1.001f;
  const auto whole = compared(Dtype::kFloat32, a, Dtype::kFloat32, b, within(5e-4));
  PairPartial pieces(Dtype::kFloat32, Dtype::kFloat32, within(5e-4));
  for (std::size_t from = 0; from < a.size();) {
    const std::size_t many = std::min<std::size_t>(1 + random() % 100, a.size() - from);
    ASSERT_TRUE(pieces.merge(compared(Dtype::kFloat32, bytes(a).subspan(from * 4, many * 4), Dtype::kFloat32,
                                      bytes(b).subspan(from * 4, many * 4), within(5e-4), from)));
    from += many;
  }
  EXPECT_GT(count(whole, PairStatistic::kOutsideCount), 0u);
  EXPECT_EQ(pieces.serialize(), whole.serialize());
  EXPECT_EQ(judgement_of(pieces).verdict, Verdict::kDifferent);
}

}  // namespace elements_test
}  // namespace tensorstat
