// The values of a partial that are computed from its counts and exact sums, each rounded once.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "precision/round.hpp"
#include "stats/core/engine/accumulator_layout.hpp"
#include "stats/core/engine/finish.hpp"
#include "stats/core/engine/stored_float.hpp"

namespace tensorstat {

// `low`: the sum of squares is rounded to the dtype before the root is taken.
inline double root_of_own_sum(const precision::Exact& squares, const precision::Format& own) {
  const double sum = precision::round_quotient(squares, 1, own);
  if (std::isinf(sum)) return sum;
  const precision::Size size = size_of(sum);
  const std::int64_t words[] = {static_cast<std::int64_t>(size.significand & 0xffffffff),
                                static_cast<std::int64_t>(size.significand >> 32)};
  return precision::round_root({words, size.exponent}, own);
}

// Its functions are terms of the catalog's rows. The partial must outlive it.
class FinishedSums {
 public:
  FinishedSums(const PartialView& partial, bool to_binary32)
      : partial_(partial),
        sums_(layout(partial.dtype).sums()),
        n_(word(PARTIAL_COUNT)),
        nans_(word(PARTIAL_NANS)),
        positive_infs_(word(PARTIAL_POSITIVE_INFS)),
        negative_infs_(word(PARTIAL_NEGATIVE_INFS)),
        finite_(n_ - nans_ - positive_infs_ - negative_infs_),
        own_(is_low(partial.dtype, partial.precision)),
        format_(own_          ? own_format(partial.dtype)
                : to_binary32 ? precision::kBinary32
                              : precision::kBinary64) {}

 protected:
  static constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  std::uint64_t count() const { return n_; }
  std::uint64_t nans() const { return nans_; }
  std::uint64_t positive_infs() const { return positive_infs_; }
  std::uint64_t negative_infs() const { return negative_infs_; }
  std::uint64_t finite_count() const { return finite_; }
  std::uint64_t zeros() const { return word(PARTIAL_ZEROS); }
  std::uint64_t negatives() const { return word(PARTIAL_NEGATIVES); }

  std::uint64_t word(std::size_t field) const { return static_cast<std::uint64_t>(partial_.words[field]); }

  // Reads a word of precision/elements.h.
  std::uint64_t element(std::size_t which) const { return word(first_element(partial_.dtype) + which); }

  // Keys of the extrema.
  std::int64_t highest() const { return partial_.words[PARTIAL_HIGHEST]; }
  std::int64_t lowest() const { return ~partial_.words[PARTIAL_LOWEST]; }
  // The extremum of the finite elements. Integers and bool are always finite.
  std::int64_t finite_highest() const {
    return partial_.words[is_float(partial_.dtype) ? first_element(partial_.dtype) + ELEMENT_WORD_FINITE_HIGHEST
                                                   : std::size_t{PARTIAL_HIGHEST}];
  }
  std::int64_t finite_lowest() const {
    return ~partial_.words[is_float(partial_.dtype) ? first_element(partial_.dtype) + ELEMENT_WORD_FINITE_LOWEST
                                                    : std::size_t{PARTIAL_LOWEST}];
  }

  precision::Exact exact(std::size_t which) const {
    const Accumulator& sum = sums_[which];
    return {sum.of(partial_.words), sum.exponent};
  }

  std::optional<double> avg() const {
    if (n_ == 0) return std::nullopt;
    if (nans_ != 0 || (positive_infs_ != 0 && negative_infs_ != 0)) return kNan;
    if (positive_infs_ != 0) return kInfinity;
    if (negative_infs_ != 0) return -kInfinity;
    return mean(n_, highest(), lowest());
  }
  std::optional<double> finite_avg() const {
    if (finite_ == 0) return std::nullopt;
    return mean(finite_, finite_highest(), finite_lowest());
  }

  // The mean of `count` elements. `highest` and `lowest` are the keys of their extrema.
  double mean(std::uint64_t count, std::int64_t highest, std::int64_t lowest) const {
    const double avg = precision::round_quotient(exact(EXACT_SUM), count, format_);
    if (!own_) return avg;
    // Rounded tile sums may put the quotient one ulp outside of the data's range; a mean lies inside.
    const double most = float_of_key(partial_.dtype, highest), least = float_of_key(partial_.dtype, lowest);
    return exceeds(avg, most) ? most : exceeds(least, avg) ? least : avg;
  }

  double l2norm() const {
    if (nans_ != 0) return kNan;
    return positive_infs_ != 0 || negative_infs_ != 0 ? kInfinity : finite_l2norm();
  }
  double finite_l2norm() const {
    if (word(PARTIAL_OVERFLOWS) != 0) return kInfinity;
    const precision::Exact squares = exact(EXACT_SQUARES);
    return own_ ? root_of_own_sum(squares, format_) : precision::round_root(squares, format_);
  }

  // A linear sum (precision/sums.h). Its factors say what the infinities add.
  double linear_sum(std::size_t which) const {
    const Accumulator& sum = sums_[which];
    const bool up = (sum.above > 0 && positive_infs_ != 0) || (sum.below < 0 && negative_infs_ != 0);
    const bool down = sum.below > 0 && negative_infs_ != 0;
    if (nans_ != 0 || (up && down)) return kNan;
    if (up || down) return up ? kInfinity : -kInfinity;
    return precision::round_quotient(exact(which), 1, format_);
  }
  double l1norm() const { return linear_sum(EXACT_ABSOLUTE); }

  // Half the sum of |x| and x, which are 2x and 0 on the two sides of 0.
  double sum_of_positives() const {
    if (nans_ != 0) return kNan;
    if (positive_infs_ != 0) return kInfinity;
    const double half = half_sum([](std::uint64_t sum, std::uint64_t size) { return sum + size; });
    return half < 0 ? 0 : half;  // only where sums were rounded, in `low`
  }
  // And half of x - |x|.
  double sum_of_negatives() const {
    if (nans_ != 0) return kNan;
    if (negative_infs_ != 0) return -kInfinity;
    const double half = half_sum([](std::uint64_t sum, std::uint64_t size) { return sum - size; });
    return half > 0 ? 0 : half;
  }
  // For words in any state of carry, each below 2^62. Words that never were a tensor's wrap.
  template <typename Term>
  double half_sum(const Term& term) const {
    const precision::Exact sum = exact(EXACT_SUM), sizes = exact(EXACT_ABSOLUTE);
    std::array<std::int64_t, precision::kMostExactWords> words;
    for (std::size_t i = 0; i < sum.words.size(); ++i) {
      words[i] = static_cast<std::int64_t>(
          term(static_cast<std::uint64_t>(sum.words[i]), static_cast<std::uint64_t>(sizes.words[i])));
    }
    return precision::round_quotient({std::span(words).first(sum.words.size()), sum.exponent - 1}, 1, format_);
  }

  std::optional<double> deviation(precision::Deviation which) const {
    if (n_ == 0) return std::nullopt;
    if (nans_ != 0 || positive_infs_ != 0 || negative_infs_ != 0) return kNan;
    if (word(PARTIAL_OVERFLOWS) != 0) return kInfinity;
    return precision::round_deviation(exact(EXACT_SUM), exact(EXACT_SQUARES), n_, format_, which);
  }

  std::optional<double> rms() const {
    if (n_ == 0) return std::nullopt;
    if (nans_ != 0) return kNan;
    if (positive_infs_ != 0 || negative_infs_ != 0 || word(PARTIAL_OVERFLOWS) != 0) return kInfinity;
    return precision::round_root_of_quotient(exact(EXACT_SQUARES), n_, format_);
  }

  // `some` of all elements. Not a sum of elements, so `low` has the same value as `high`.
  std::optional<double> share(std::uint64_t some) const {
    if (n_ == 0) return std::nullopt;
    const std::int64_t words[] = {static_cast<std::int64_t>(some & 0xffffffff), static_cast<std::int64_t>(some >> 32)};
    return precision::round_quotient({words, 0}, n_, own_ ? precision::kBinary64 : format_);
  }

  const PartialView& partial_;
  const std::span<const Accumulator> sums_;
  const std::uint64_t n_, nans_, positive_infs_, negative_infs_, finite_;
  const bool own_;  // sums are in the dtype's own arithmetic (`low`)
  const precision::Format format_;
};

}  // namespace tensorstat
