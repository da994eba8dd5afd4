// The last step rounds once and correctly: quotients and roots at, and a hair beside, the places
// where rounding decides, in every format, whatever rounding mode the caller is in.
#include <fenv.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <string>
#include <vector>

#include "precision/round.hpp"
#include "tests/support/oracle.hpp"
#include "tests/support/samples.hpp"

namespace tensorstat::precision {
namespace rounding_test {

struct Pair {
  std::string name;
  Format format;
  oracle::Ieee ieee;
};

// An exact number for both sides: words in some state of carry, and what they add up to.
struct Number {
  std::vector<std::int64_t> words;
  int exponent;
  mpq_class value;
};

class Rounding : public testing::TestWithParam<Pair> {
 protected:
  std::uint64_t any(std::uint64_t below) { return random_() % below; }

  mpz_class any_bits(std::uint64_t count) {
    mpz_class result = 0;
    for (std::uint64_t i = 0; i < count; ++i) result = 2 * result + static_cast<unsigned long>(random_() & 1);
    return result;
  }
  // As many significant bits as the format holds, the first and perhaps all of them set.
  mpz_class any_significand() {
    const auto bits = static_cast<mp_bitcnt_t>(ieee().fraction_bits);
    const mpz_class top = mpz_class(1) << bits;
    switch (any(4)) {
      case 0:
        return top;
      case 1:
        return 2 * top - 1;
      default:
        return top + any_bits(bits);
    }
  }
  // From below the smallest subnormal to beyond the largest number, of a last place.
  long any_unit() {
    const long least = ieee().least_exponent(), most = ieee().bias() - ieee().fraction_bits;
    switch (any(4)) {
      case 0:
        return least - 3 + static_cast<long>(any(7));
      case 1:
        return most - 3 + static_cast<long>(any(5));
      default:
        return least + static_cast<long>(any(static_cast<std::uint64_t>(most - least)));
    }
  }
  int any_hair() { return static_cast<int>(any(3)) - 1; }
  // How many bits below what decides a hair lies: in a number of many words, or of few.
  mp_bitcnt_t any_depth() { return any(2) == 0 ? 200 : 2 + any(70); }

  Number number(const mpz_class& units, int exponent) {
    Number result{{}, exponent, oracle::scaled(units, exponent)};
    mpz_class rest = abs(units);
    const int sign = units < 0 ? -1 : 1;
    while (rest != 0) {
      const mpz_class digit = rest & 0xffffffff;
      result.words.push_back(sign * static_cast<std::int64_t>(digit.get_ui()));
      rest >>= 32;
    }
    if (result.words.size() > 1 && std::abs(result.words.back()) < 1 << 30 && any(3) == 0) {  // one long last word
      const std::int64_t last = result.words.back();
      result.words.pop_back();
      result.words.back() += last * (std::int64_t{1} << 32);
    }
    result.words.resize(result.words.size() + any(3) + 1);
    if (any(2) == 0) {  // between words of 0, as a small tensor's sum is
      result.words.resize(result.words.size() + any(8));
      const std::size_t below = any(8);
      result.words.insert(result.words.begin(), below, 0);
      result.exponent -= 32 * static_cast<int>(below);
    }
    const std::size_t size = result.words.size();
    const std::size_t first = any(2) == 0 ? 0 : size - std::min<std::size_t>(size, 1 + any(6));
    for (std::size_t i = first; i + 1 < result.words.size(); ++i) {  // carries that are due, or have gone too far
      const std::int64_t carried = static_cast<std::int64_t>(any(1u << 20)) - (1 << 19);
      result.words[i] += carried * (std::int64_t{1} << 32);
      result.words[i + 1] -= carried;
    }
    return result;
  }

  void hold(double expected, double (*round)(const Number&, std::uint64_t, const Format&), const Number& number,
            std::uint64_t divisor) {
    for (const int mode : {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
      fesetround(mode);
      const double got = round(number, divisor, GetParam().format);
      const int mode_after = fegetround();
      fesetround(FE_TONEAREST);
      ASSERT_EQ(mode, mode_after);
      ASSERT_EQ(std::bit_cast<std::uint64_t>(expected), std::bit_cast<std::uint64_t>(got))
          << number.value << " / " << divisor << " in rounding mode " << mode << ", seed " << samples::seed()
          << "\n  must be " << oracle::shown(expected) << "\n  is      " << oracle::shown(got);
    }
  }
  void hold_quotient(const Number& number, std::uint64_t divisor) {
    hold(
        oracle::nearest(number.value / mpz_class(divisor), ieee()),
        [](const Number& n, std::uint64_t d, const Format& f) {
          return round_quotient({n.words, n.exponent}, d, f);
        },
        number, divisor);
  }
  void hold_root(const Number& number) {
    hold(
        oracle::nearest_root(number.value, ieee()),
        [](const Number& n, std::uint64_t, const Format& f) {
          return round_root({n.words, n.exponent}, f);
        },
        number, 1);
  }

  oracle::Ieee ieee() const { return GetParam().ieee; }
  const int rounds_ = samples::full() ? 300'000 : 20'000;
  samples::Random random_{samples::seed()};
};
constexpr Format kBinary16{11, -24, 15}, kBfloat16{8, -133, 127};
INSTANTIATE_TEST_SUITE_P(To, Rounding,
                         testing::Values(Pair{"binary64", kBinary64, oracle::kBinary64},
                                         Pair{"binary32", kBinary32, oracle::kBinary32},
                                         Pair{"binary16", kBinary16, oracle::kBinary16},
                                         Pair{"bfloat16", kBfloat16, oracle::kBfloat16}),
                         [](const auto& info) { return info.param.name; });

// (significand + 1/2) units, exactly and with a hair of a small part of a unit more or less.
TEST_P(Rounding, QuotientsAtTies) {
  for (int i = 0; i < rounds_ && !HasFatalFailure(); ++i) {
    const std::uint64_t divisor = 1 + (any(3) == 0 ? any(10) : random_() >> any(64));
    const mp_bitcnt_t depth = any_depth();
    const mpz_class tie = (2 * any_significand() + 1) << depth;
    const mpz_class sum = tie * mpz_class(divisor == 0 ? 1 : divisor) + any_hair();
    const auto exponent = static_cast<int>(any_unit() - 1 - static_cast<long>(depth));
    hold_quotient(number(any(2) != 0 ? sum : mpz_class(-sum), exponent), divisor == 0 ? 1 : divisor);
  }
}

TEST_P(Rounding, RootsAtTies) {
  for (int i = 0; i < rounds_ && !HasFatalFailure(); ++i) {
    const mpz_class twice = 2 * any_significand() + 1;
    const mp_bitcnt_t depth = any_depth() / 2;
    const mpz_class square = ((twice * twice) << 2 * depth) + any_hair();
    hold_root(number(square, static_cast<int>(2 * (any_unit() - 1 - static_cast<long>(depth)))));
  }
}

TEST_P(Rounding, RootsOfSquares) {
  for (int i = 0; i < rounds_ && !HasFatalFailure(); ++i) {
    const mpz_class root = any_significand();
    const mp_bitcnt_t depth = any_depth() / 2;
    const mpz_class square = ((root * root) << 2 * depth) + any_hair();
    hold_root(number(square, static_cast<int>(2 * (any_unit() - static_cast<long>(depth)))));
  }
}

// At the border to infinity: the largest number, half a unit more, and a hair beside each.
TEST_P(Rounding, AtOverflow) {
  const mpz_class largest = (mpz_class(2) << static_cast<mp_bitcnt_t>(ieee().fraction_bits)) - 1;
  const int unit = ieee().bias() - ieee().fraction_bits;
  for (int halves = -3; halves <= 3; ++halves) {
    for (int hair = -1; hair <= 1; ++hair) {
      const mpz_class near = 2 * largest + halves;
      for (const std::uint64_t divisor : {1ull, 3ull, ~0ull}) {
        hold_quotient(number((near << 100) * mpz_class(divisor) + hair, unit - 101), divisor);
        hold_quotient(number(-(near << 100) * mpz_class(divisor) + hair, unit - 101), divisor);
      }
      hold_root(number(((near * near) << 100) + hair, 2 * (unit - 51)));
    }
  }
}

TEST_P(Rounding, OfAnyNumber) {
  for (int i = 0; i < rounds_ && !HasFatalFailure(); ++i) {
    const mpz_class units = any_bits(any(700));
    const auto exponent = static_cast<int>(any(800)) - 600 - static_cast<int>(any(2000) * (any(4) == 0 ? 1 : 0));
    hold_quotient(number(any(2) != 0 ? units : mpz_class(-units), exponent), 1 + (random_() >> 1 >> any(63)));
    hold_root(number(units, exponent));
  }
}

// Logarithms of quotients of any size and a hair beside 1, and of powers of two, which alone have whole logarithms.
TEST_P(Rounding, LogarithmsOfQuotients) {
  for (int i = 0; i < rounds_ / 40; ++i) {
    const std::uint64_t a = (random_() >> any(64)) | 1,
                        b = any(3) == 0 ? a - 1 + 2 * any(2) : (random_() >> any(64)) | 1;
    const int exponent = any(4) == 0 ? static_cast<int>(any(4000)) - 2000 : 0;
    const Size dividend{a, exponent}, divisor{b == 0 ? 1 : b, 0};
    const mpq_class quotient = oracle::scaled(mpz_class(static_cast<unsigned long>(a)), exponent) /
                               mpz_class(static_cast<unsigned long>(divisor.significand));
    const double expected = quotient >= 1 ? oracle::nearest(oracle::log2(quotient), ieee())
                                          : -oracle::nearest(oracle::log2(1 / quotient), ieee());
    ASSERT_EQ(expected, round_log2(dividend, divisor, GetParam().format)) << quotient << ", seed " << samples::seed();
  }
}

TEST_P(Rounding, OfNothing) {
  const Exact none{{}, -149};
  const std::vector<std::int64_t> zeros = {0, 0, 0}, many_zeros(12), cancelled = {std::int64_t{1} << 32, -1, 0},
                                  long_cancelled = {0, std::int64_t{1} << 32, -1, 0, 0, 0, 0, 0};
  for (const Exact& zero :
       {none, Exact{zeros, -149}, Exact{many_zeros, -149}, Exact{cancelled, -149}, Exact{long_cancelled, -149}}) {
    EXPECT_EQ(0u, std::bit_cast<std::uint64_t>(round_quotient(zero, 3, GetParam().format)));
    EXPECT_EQ(0u, std::bit_cast<std::uint64_t>(round_root(zero, GetParam().format)));
  }
}

}  // namespace rounding_test
}  // namespace tensorstat::precision
