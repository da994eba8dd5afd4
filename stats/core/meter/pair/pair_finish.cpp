// Computes values from the words of a PairPartial, each rounded once.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "precision/round.hpp"
#include "stats/core/base/float_environment.hpp"
#include "stats/core/engine/pair_layout.hpp"

namespace tensorstat {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
using precision::Exact;
using precision::kBinary64;

class FinishedPair {
 public:
  explicit FinishedPair(const PairPartial& partial)
      : words_(partial.words()),
        sums_(pair_layout(partial.dtype_a(), partial.dtype_b()).sums()),
        n_(count(PAIR_COUNT)),
        is_alone_(count(PAIR_NAN_ALONE) + count(PAIR_INF_ALONE) != 0),
        has_steps_(is_float(partial.dtype_a()) && is_float(partial.dtype_b())) {}

  Value value(PairStatistic statistic) const {
#define ROW(id, name, kind, formula, special_rule, value) \
  case PairStatistic::id:                                 \
    return value;
    switch (statistic) { TENSORSTAT_PAIR_STATISTICS(ROW) }
#undef ROW
    return {};
  }

 private:
  // The terms of the rows of <tensorstat/pair.inc>.
  std::uint64_t count(int field) const { return static_cast<std::uint64_t>(words_[static_cast<std::size_t>(field)]); }

  Value index(int field) const {
    const std::int64_t place = words_[static_cast<std::size_t>(field)];
    return place == kEmptyMaximum ? Value() : Value(static_cast<std::uint64_t>(~place));
  }

  Value greatest(int field) const { return n_ == 0 ? Value() : number(field); }
  double number(int field) const {
    return std::bit_cast<double>(std::max<std::int64_t>(words_[static_cast<std::size_t>(field)], 0));
  }

  Value max_ulp() const {
    if (n_ == 0 || !has_steps_) return {};
    return count(PAIR_ULP) ^ std::uint64_t{1} << 63;
  }

  Value share(int field) const {
    if (n_ == 0) return {};
    const std::int64_t part = words_[static_cast<std::size_t>(field)];
    const std::int64_t digits[] = {part & 0xffffffff, part >> 32};
    return precision::round_quotient({digits, 0}, n_, kBinary64);
  }

  Exact sum(std::size_t which) const { return {sums_[which].of(words_), sums_[which].exponent}; }

  // The exact sum of (a - b)^2, word by word: all three sums have the same unit.
  Exact squared_distance() const {
    const Exact a = sum(PAIR_SUM_SQUARES_A), b = sum(PAIR_SUM_SQUARES_B), products = sum(PAIR_SUM_PRODUCTS);
    for (std::size_t i = 0; i < a.words.size(); ++i) distance_[i] = a.words[i] - 2 * products.words[i] + b.words[i];
    return {std::span(distance_).first(a.words.size()), a.exponent};
  }

  static bool is_zero(const Exact& exact) { return precision::round_root(exact, kBinary64) == 0; }

  Value cosine() const {
    if (n_ == 0) return {};
    if (is_alone_) return std::numeric_limits<double>::quiet_NaN();
    const Exact a = sum(PAIR_SUM_SQUARES_A), b = sum(PAIR_SUM_SQUARES_B);
    if (is_zero(a) || is_zero(b)) return is_zero(a) && is_zero(b) ? Value(1.0) : Value();
    return precision::round_cosine(sum(PAIR_SUM_PRODUCTS), a, b, kBinary64);
  }

  double euclidean() const { return is_alone_ ? kInfinity : precision::round_root(squared_distance(), kBinary64); }

  Value mean_abs_diff() const {
    if (n_ == 0) return {};
    return is_alone_ ? kInfinity : precision::round_quotient(sum(PAIR_SUM_DISTANCES), n_, kBinary64);
  }

  Value rmse() const {
    if (n_ == 0) return {};
    return is_alone_ ? kInfinity : precision::round_root_of_quotient(squared_distance(), n_, kBinary64);
  }

  double relative_l2() const {
    if (is_alone_) return kInfinity;
    const Exact distance = squared_distance(), b = sum(PAIR_SUM_SQUARES_B);
    if (is_zero(b)) return is_zero(distance) ? 0 : kInfinity;
    return precision::round_root_of_ratio(distance, b, kBinary64);
  }

  // log10(sqrt(square)). `rounded` computes the root, rounded to binary64. If the root overflows or is subnormal,
  // `square` is first scaled by a power of 4, and the logarithms of mantissa and exponent are added.
  template <typename Rounded>
  static double log10_of_root(const Exact& square, const Rounded& rounded) {
    const double root = rounded(square);
    if (std::isnormal(root)) return std::log10(root);
    for (const int shift : {600, -600, 1200, -1200, 1800, -1800, 2400, -2400}) {  // the roots are within 2^+-2200
      const double scaled = rounded({square.words, square.exponent + 2 * shift});
      if (!std::isnormal(scaled)) continue;
      const int exponent = std::ilogb(scaled);
      return std::log10(std::ldexp(scaled, -exponent)) + (exponent - shift) * std::log10(2.0);
    }
    return std::log10(root);
  }

  // 10 log10(sum of b * b / sum of (a - b)^2)
  Value snr() const {
    if (n_ == 0) return {};
    if (is_alone_) return -kInfinity;
    const Exact signal = sum(PAIR_SUM_SQUARES_B), noise = squared_distance();
    if (is_zero(noise)) return kInfinity;
    if (is_zero(signal)) return -kInfinity;
    return 20 * log10_of_root(signal, [&](const Exact& scaled) {
             return precision::round_root_of_ratio(scaled, noise, kBinary64);
           });
  }

  Value psnr() const {
    if (n_ == 0) return {};
    if (is_alone_) return -kInfinity;
    const Exact noise = squared_distance();
    if (is_zero(noise)) return kInfinity;
    const auto rmse_of = [&](const Exact& scaled) { return precision::round_root_of_quotient(scaled, n_, kBinary64); };
    return 20 * (std::log10(number(PAIR_PEAK)) - log10_of_root(noise, rmse_of));
  }

  const std::span<const std::int64_t> words_;
  const std::span<const Accumulator> sums_;
  const std::uint64_t n_;
  const bool is_alone_, has_steps_;
  mutable std::array<std::int64_t, precision::kMostExactWords> distance_;
};

}  // namespace

Value PairPartial::finish(PairStatistic statistic) const {
  const FloatEnvironment ieee;
  return FinishedPair(*this).value(statistic);
}

}  // namespace tensorstat
