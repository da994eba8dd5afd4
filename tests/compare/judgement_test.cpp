// The verdict on two rows is closed: equal, within the tolerance, or different; what cannot be judged is different.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "stats/answer/compare/judge.hpp"

namespace tensorstat {
namespace judgement_test {

using enum Category;

Row row(Categories categories, std::vector<Value> values, std::string dtype = "float32", Shape shape = {100}) {
  Row made;
  made.data_type = std::move(dtype);
  made.shape = std::move(shape);
  made.statistics = {std::move(categories), std::move(values)};
  return made;
}

Judgement judged(const Row& one, const Row& other, std::optional<Tolerance> tolerance = {}) {
  Record a, b;
  a.add(one, {.name = "x"});
  b.add(other, {.name = "x"});
  return judge(a, a.rows()[0], b, b.rows()[0], tolerance.value_or(default_tolerance(one.data_type)));
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();

TEST(Judgement, OfTheSameValuesIsEqual) {
  const Row same = row({kMax, kMin, kNanCount}, {kNan, -kInf, std::uint64_t{3}});
  EXPECT_EQ(judged(same, same).verdict, Verdict::kEqual);
  EXPECT_EQ(judged(row({kMax}, {1.0}), row({kMax}, {std::uint64_t{1}})).verdict, Verdict::kEqual);
}

TEST(Judgement, IsWithinTheToleranceOfTheDtype) {
  EXPECT_EQ(judged(row({kMax}, {1.0}), row({kMax}, {1.000009})).verdict, Verdict::kWithin);
  EXPECT_EQ(judged(row({kMax}, {1.0}), row({kMax}, {1.00002})).verdict, Verdict::kDifferent);
  EXPECT_EQ(judged(row({kMax}, {1.0}, "float16"), row({kMax}, {1.0009}, "float16")).verdict, Verdict::kWithin);
  EXPECT_EQ(judged(row({kMax}, {1.0}, "float16"), row({kMax}, {1.0011}, "float16")).verdict, Verdict::kDifferent);
  EXPECT_EQ(
      judged(row({kMax}, {std::int64_t{1000000}}, "int32"), row({kMax}, {std::int64_t{1000001}}, "int32")).verdict,
      Verdict::kDifferent);
  EXPECT_EQ(judged(row({kMax}, {1.0}), row({kMax}, {1.4}), Tolerance{.atol = 0.5}).verdict, Verdict::kWithin);
}

TEST(Judgement, OfAnAverageKnowsThatTermsCancel) {
  const auto row_of = [](double avg) { return row({kAvg, kL2norm}, {avg, 10.0}); };  // a root mean square of 1
  EXPECT_EQ(judged(row_of(1e-9), row_of(-4e-6)).verdict, Verdict::kWithin);
  EXPECT_EQ(judged(row_of(1e-9), row_of(-4e-5)).verdict, Verdict::kDifferent);
  EXPECT_EQ(judged(row({kAvg}, {1e-9}), row({kAvg}, {-4e-6})).verdict, Verdict::kDifferent);
}

TEST(Judgement, OfNanInfAndNothingAgainstANumberIsDifferent) {
  for (const Value& other : {Value(kNan), Value(kInf), Value()}) {
    const Judgement judgement = judged(row({kMax}, {1.0}), row({kMax}, {other}), Tolerance{.rtol = 1e9});
    EXPECT_EQ(judgement.verdict, Verdict::kDifferent) << to_string(other);
    EXPECT_EQ(judgement.difference, kInf);
    EXPECT_EQ(judgement.why, "max");
  }
  EXPECT_EQ(judged(row({kMax}, {kInf}), row({kMax}, {-kInf}), Tolerance{.rtol = 1e9}).verdict, Verdict::kDifferent);
}

TEST(Judgement, OfCountsOfNanIsExactAndOfSignsRelative) {
  const auto row_of = [](Category category, std::uint64_t count) { return row({category}, {count}); };
  const Tolerance tenth{.rtol = 0.1};
  EXPECT_EQ(judged(row_of(kNanCount, 0), row_of(kNanCount, 1), tenth).verdict, Verdict::kDifferent);
  EXPECT_EQ(judged(row_of(kZeroCount, 40), row_of(kZeroCount, 50), tenth).verdict, Verdict::kWithin);
  EXPECT_EQ(judged(row_of(kZeroCount, 40), row_of(kZeroCount, 51), tenth).verdict, Verdict::kDifferent);
}

TEST(Judgement, OfShapesAndDtypesSaysBoth) {
  const Judgement shapes = judged(row({kMax}, {1.0}, "float32", {2, 3}), row({kMax}, {1.0}, "float32", {3, 2}));
  EXPECT_EQ(shapes.verdict, Verdict::kDifferent);
  EXPECT_EQ(shapes.why, "shape (2,3) and (3,2)");
  const Row half = row({kMax}, {1.0}, "float16");
  EXPECT_EQ(judged(row({kMax}, {1.0}), half).why, "dtype float32 and float16");
  EXPECT_EQ(judged(row({kMax}, {1.0}), half, Tolerance{.any_dtype = true}).verdict, Verdict::kEqual);
}

TEST(Judgement, OfIntegersThatAreOneBinary64IsExact) {
  constexpr std::int64_t kLong = (std::int64_t{1} << 53) + 1;
  const auto judged_of = [](const Value& one, const Value& other, double rtol = 0) {
    return judged(row({kMax}, {one}, "int64"), row({kMax}, {other}, "int64"), Tolerance{.rtol = rtol});
  };
  EXPECT_EQ(judged_of(kLong, kLong - 1).verdict, Verdict::kDifferent);
  EXPECT_EQ(judged_of(-kLong, 1 - kLong).verdict, Verdict::kDifferent);
  EXPECT_EQ(judged_of(kLong, kLong - 1, 1e-9).verdict, Verdict::kWithin);
  EXPECT_EQ(judged_of(kLong, kLong).verdict, Verdict::kEqual);
  EXPECT_EQ(judged_of(std::uint64_t{kLong}, kLong - 1).verdict, Verdict::kDifferent);
  EXPECT_EQ(judged_of(INT64_MIN, INT64_MAX).difference, 2.0);
  EXPECT_EQ(judged_of(UINT64_MAX, UINT64_MAX - 1).verdict, Verdict::kDifferent);
}

TEST(Judgement, WithoutACommonStatisticIsDifferent) {
  EXPECT_EQ(judged(row({kMax}, {1.0}), row({kMin}, {1.0})).why, "no statistic is in both");
  EXPECT_EQ(judged(row({kMax}, {Value()}, "float32", {0}), row({kMax}, {Value()}, "float32", {0})).verdict,
            Verdict::kEqual);
}

TEST(Judgement, OfDigests) {
  const Value one = *Digest::from(std::string(32, '1')), two = *Digest::from(std::string(32, '2'));
  EXPECT_EQ(judged(row({kMd5}, {one}), row({kMd5}, {one})).verdict, Verdict::kEqual);
  EXPECT_EQ(judged(row({kMd5}, {one}), row({kMd5}, {two})).why, "digest");
  EXPECT_EQ(judged(row({kMd5, kMax}, {one, 1.0}), row({kMd5, kMax}, {two, 1.0})).verdict, Verdict::kWithin);
}

// Four elements of one value have the xor64 0, whatever the value is.
TEST(Judgement, OfOtherStatisticsIsNotEqualByACollision) {
  for (const auto& [category, digits] : {std::pair{kXor64, std::size_t{16}}, {kCrc32, std::size_t{8}}}) {
    const Value none = *Digest::from(std::string(digits, '0')), other = *Digest::from(std::string(digits, '1'));
    EXPECT_EQ(judged(row({category, kMax}, {none, 1.0}), row({category, kMax}, {none, 300.0})).why, "max");
    EXPECT_EQ(judged(row({kMax, category}, {1.0, none}), row({kMax, category}, {300.0, none})).why, "max");
    EXPECT_EQ(judged(row({kMax, category}, {1.0, none}), row({kMax, category}, {1.0, none})).verdict, Verdict::kEqual);
    EXPECT_EQ(judged(row({category}, {none}), row({category}, {none})).verdict, Verdict::kEqual);
    EXPECT_EQ(judged(row({category}, {none}), row({category}, {other})).why, "digest");
    const Value one = *Digest::from(std::string(32, '1')), two = *Digest::from(std::string(32, '2'));
    EXPECT_EQ(judged(row({category, kMd5}, {none, one}), row({category, kMd5}, {none, two})).why, "digest");
    EXPECT_EQ(judged(row({category, kMd5}, {other, one}), row({category, kMd5}, {none, one})).verdict, Verdict::kEqual);
  }
}

TEST(Tolerances, ComeFromTheFirstPatternThatMatchesTheWholeName) {
  const auto tolerances = Tolerances::parse(
      "# comment\n.*/Softmax.* rtol=1e-2  atol=0.5\n\n.*Conv2D-op12 rtol=0.25 dtype=any # last\n.* rtol=1\n");
  ASSERT_TRUE(tolerances) << tolerances.error().message;
  EXPECT_EQ(tolerances->of("net/Softmax-op1", "float32").atol, 0.5);
  EXPECT_EQ(tolerances->of("Conv2D-op12", "float32").rtol, 0.25);
  EXPECT_TRUE(tolerances->of("Conv2D-op12", "float32").any_dtype);
  EXPECT_EQ(tolerances->of("Conv2D-op123", "int32").rtol, 1);
  EXPECT_EQ(Tolerances().of("x", "bfloat16").rtol, 0x1p-8);
  for (const auto& [text, message] :
       {std::pair{"x rtol=-1", "line 1: \"rtol=-1\" is none of rtol=NUMBER, atol=NUMBER and dtype=any"},
        {"x\n( rtol=1", "line 2: "},
        {"x rtol=nan", "line 1: "}}) {
    const auto wrong = Tolerances::parse(text);
    ASSERT_FALSE(wrong) << text;
    EXPECT_TRUE(wrong.error().message.starts_with(message)) << wrong.error().message;
  }
}

TEST(Specials, AreCountedOrAtLeastSeen) {
  const auto specials = [](Categories categories, std::vector<Value> values) {
    return specials_of(Statistics(std::move(categories), std::move(values)));
  };
  EXPECT_FALSE(specials({kMax, kMin}, {1.0, -1.0}).any());
  EXPECT_FALSE(specials({kMax, kL2norm}, {1e30, kInf}).any()) << "a norm may overflow where no element does";
  EXPECT_EQ(specials({kMax}, {kNan}).nan, std::nullopt);
  EXPECT_EQ(specials({kMax}, {kNan}).inf, 0u);
  EXPECT_EQ(specials({kMax, kNanCount}, {kNan, std::uint64_t{3}}).nan, 3u);
  EXPECT_EQ(specials({kMin}, {-kInf}).inf, std::nullopt);
  EXPECT_EQ(specials({kPositiveInfCount, kNegativeInfCount}, {std::uint64_t{1}, std::uint64_t{2}}).inf, 3u);
  EXPECT_EQ(specials({kL2norm}, {kInf}).inf, std::nullopt);
}

}  // namespace judgement_test
}  // namespace tensorstat
