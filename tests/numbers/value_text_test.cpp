// A value's text is the shortest that reads back as the same bits, whatever the locale.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <locale>
#include <random>
#include <tensorstat/statistics.hpp>
#include <tensorstat/tensor.hpp>

namespace tensorstat {
namespace value_text_test {

// The shortest of printf's scientific texts that reads back as `number`.
std::string shortest_scientific(double number) {
  char text[64];
  for (int digits = 1; digits <= 17; ++digits) {
    std::snprintf(text, sizeof text, "%.*e", digits - 1, number);
    if (std::strtod(text, nullptr) == number) break;
  }
  return text;
}

TEST(ValueText, DoublesReadBackAndAreShortest) {
  constexpr std::uint64_t kSeed = 20240611;
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 100'000; ++i) {
    const double number = std::bit_cast<double>(random());
    if (!std::isfinite(number)) continue;
    const std::string text = to_string(Value(number));
    ASSERT_EQ(std::bit_cast<std::uint64_t>(std::strtod(text.c_str(), nullptr)), std::bit_cast<std::uint64_t>(number))
        << text << " seed " << kSeed;
    ASSERT_LE(text.size(), shortest_scientific(number).size()) << text << " seed " << kSeed;
  }
}

TEST(ValueText, KnownDoubles) {
  using Limits = std::numeric_limits<double>;
  const std::pair<double, const char*> known[] = {
      {0.0, "0"},
      {-0.0, "-0"},
      {1.0, "1"},
      {0.1, "0.1"},
      {65504.0, "65504"},
      {1e300, "1e+300"},
      {Limits::denorm_min(), "5e-324"},
      {Limits::max(), "1.7976931348623157e+308"},
      {Limits::lowest(), "-1.7976931348623157e+308"},
      {-Limits::min(), "-2.2250738585072014e-308"},
      {Limits::infinity(), "inf"},
      {-Limits::infinity(), "-inf"},
      {Limits::quiet_NaN(), "nan"},
      {-Limits::quiet_NaN(), "nan"},
      {Limits::signaling_NaN(), "nan"},
  };
  for (const auto& [number, text] : known) EXPECT_EQ(to_string(Value(number)), text);
}

TEST(ValueText, IntegersAreExact) {
  EXPECT_EQ(to_string(Value(std::numeric_limits<std::uint64_t>::max())), "18446744073709551615");
  EXPECT_EQ(to_string(Value(std::numeric_limits<std::int64_t>::min())), "-9223372036854775808");
  EXPECT_EQ(to_string(Value(std::uint64_t{0})), "0");
}

TEST(ValueText, NoValueIsNoText) {
  EXPECT_EQ(to_string(Value()), "");
  EXPECT_EQ(to_string(Value(*Digest::from("d41d8cd98f00b204e9800998ecf8427e"))), "d41d8cd98f00b204e9800998ecf8427e");
}

TEST(ValueText, IgnoresTheLocale) {
  struct Commas : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };
  const std::locale before = std::locale::global(std::locale(std::locale(), new Commas));
  const std::string real = to_string(Value(1234567.5));
  const std::string whole = to_string(Value(std::uint64_t{1234567}));
  const std::string shape = to_string(Shape{1234567});
  std::locale::global(before);
  EXPECT_EQ(real, "1234567.5");
  EXPECT_EQ(whole, "1234567");
  EXPECT_EQ(shape, "(1234567)");
}

TEST(Statistics, FindsWhatWasAsked) {
  const Statistics statistics{{Category::kMin, Category::kCount}, {2.5, std::uint64_t{7}}};
  ASSERT_NE(statistics.find(Category::kCount), nullptr);
  EXPECT_EQ(*statistics.find(Category::kCount), Value(std::uint64_t{7}));
  EXPECT_EQ(*statistics.find(Category::kMin), Value(2.5));
  EXPECT_EQ(statistics.find(Category::kMax), nullptr);
}

}  // namespace value_text_test
}  // namespace tensorstat
