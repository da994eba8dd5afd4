// Computes values from the words of a PairPartial, each rounded once.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "precision/round.hpp"
#include "stats/engine/pair_layout.hpp"

namespace tensorstat {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
using precision::Exact;
using precision::kBinary64;

class FinishedPair {
 public:
  explicit FinishedPair(const PairPartial& partial)
      : words_(partial.words()),
        layout_(pair_layout(partial.dtype_a(), partial.dtype_b())),
        n_(count(PAIR_COUNT)),
        is_alone_(count(PAIR_NAN_ALONE) + count(PAIR_INF_ALONE) != 0),
        has_steps_(is_float(partial.dtype_a()) && is_float(partial.dtype_b())) {}

  Value value(PairStatistic statistic) const {
    switch (statistic) {
      case PairStatistic::kEuclidean:
        return is_alone_ ? kInfinity : precision::round_root(squared_distance(), kBinary64);
      case PairStatistic::kRelativeL2:
        return relative_l2();
      case PairStatistic::kCount:
        return n_;
      case PairStatistic::kMaxAbsDiffIndex:
        return index(PAIR_FARTHEST_AT);
      case PairStatistic::kMaxRelDiffIndex:
        return index(PAIR_RELATIVE_AT);
      case PairStatistic::kUnequalCount:
        return count(PAIR_UNEQUAL);
      case PairStatistic::kFirstUnequalIndex:
        return index(PAIR_FIRST_UNEQUAL);
      case PairStatistic::kWithinCount:
        return n_ - count(PAIR_OUTSIDE);
      case PairStatistic::kOutsideCount:
        return count(PAIR_OUTSIDE);
      case PairStatistic::kFirstOutsideIndex:
        return index(PAIR_FIRST_OUTSIDE);
      case PairStatistic::kBothNanCount:
        return count(PAIR_BOTH_NAN);
      case PairStatistic::kSameInfCount:
        return count(PAIR_SAME_INF);
      case PairStatistic::kNanAloneCount:
        return count(PAIR_NAN_ALONE);
      case PairStatistic::kInfAloneCount:
        return count(PAIR_INF_ALONE);
      default:
        break;
    }
    if (n_ == 0) return {};
    switch (statistic) {
      case PairStatistic::kCosine:
        return cosine();
      case PairStatistic::kRmse:
        return rmse();
      case PairStatistic::kSnr:
        return snr();
      case PairStatistic::kPsnr:
        return psnr();
      case PairStatistic::kMeanAbsDiff:
        return is_alone_ ? kInfinity : precision::round_quotient(sum(PAIR_SUM_DISTANCES), n_, kBinary64);
      case PairStatistic::kMaxAbsDiff:
        return number(PAIR_FARTHEST);
      case PairStatistic::kMaxRelDiff:
        return number(PAIR_RELATIVE);
      case PairStatistic::kUnder1000th:
        return share(PAIR_UNDER_1000TH);
      case PairStatistic::kUnder200th:
        return share(PAIR_UNDER_200TH);
      case PairStatistic::kMaxUlp:
        return has_steps_ ? Value(static_cast<std::uint64_t>(words_[PAIR_ULP]) ^ std::uint64_t{1} << 63) : Value();
      default:
        return {};
    }
  }

 private:
  std::uint64_t count(int field) const { return static_cast<std::uint64_t>(words_[static_cast<std::size_t>(field)]); }

  Value index(int field) const {
    const std::int64_t place = words_[static_cast<std::size_t>(field)];
    return place == kNoPlace ? Value() : Value(static_cast<std::uint64_t>(~place));
  }

  double number(int field) const {
    return std::bit_cast<double>(std::max<std::int64_t>(words_[static_cast<std::size_t>(field)], 0));
  }

  Value share(int field) const {
    const std::int64_t part = words_[static_cast<std::size_t>(field)];
    const std::int64_t digits[] = {part & 0xffffffff, part >> 32};
    return precision::round_quotient({digits, 0}, n_, kBinary64);
  }

  Exact sum(std::size_t which) const {
    return {words_.subspan(layout_[which].first, layout_[which].count), layout_[which].exponent};
  }

  // The exact sum of (a - b)^2, word by word: all three sums have the same unit.
  Exact squared_distance() const {
    const Exact a = sum(PAIR_SUM_SQUARES_A), b = sum(PAIR_SUM_SQUARES_B), products = sum(PAIR_SUM_PRODUCTS);
    for (std::size_t i = 0; i < a.words.size(); ++i) distance_[i] = a.words[i] - 2 * products.words[i] + b.words[i];
    return {std::span(distance_).first(a.words.size()), a.exponent};
  }

  static bool is_zero(const Exact& exact) { return precision::round_root(exact, kBinary64) == 0; }

  Value cosine() const {
    if (is_alone_) return std::numeric_limits<double>::quiet_NaN();
    const Exact a = sum(PAIR_SUM_SQUARES_A), b = sum(PAIR_SUM_SQUARES_B);
    if (is_zero(a) || is_zero(b)) return is_zero(a) && is_zero(b) ? Value(1.0) : Value();
    return precision::round_cosine(sum(PAIR_SUM_PRODUCTS), a, b, kBinary64);
  }

  double rmse() const {
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
  double snr() const {
    if (is_alone_) return -kInfinity;
    const Exact signal = sum(PAIR_SUM_SQUARES_B), noise = squared_distance();
    if (is_zero(noise)) return kInfinity;
    if (is_zero(signal)) return -kInfinity;
    return 20 * log10_of_root(signal, [&](const Exact& scaled) {
             return precision::round_root_of_ratio(scaled, noise, kBinary64);
           });
  }

  double psnr() const {
    if (is_alone_) return -kInfinity;
    const Exact noise = squared_distance();
    if (is_zero(noise)) return kInfinity;
    const auto rmse_of = [&](const Exact& scaled) { return precision::round_root_of_quotient(scaled, n_, kBinary64); };
    return 20 * (std::log10(number(PAIR_PEAK)) - log10_of_root(noise, rmse_of));
  }

  const std::span<const std::int64_t> words_;
  const PairLayout& layout_;
  const std::uint64_t n_;
  const bool is_alone_, has_steps_;
  mutable std::array<std::int64_t, precision::kMostExactWords> distance_;
};

}  // namespace

Value PairPartial::finish(PairStatistic statistic) const { return FinishedPair(*this).value(statistic); }

}  // namespace tensorstat
