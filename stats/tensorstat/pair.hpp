// SPDX-License-Identifier: Apache-2.0
// Two tensors of one shape, compared element by element in one pass: how far they are apart, and where.
//
//   const TensorPair pair{a, b};
//   const auto found = meter.compare({&pair, 1}, {.tolerance = {.rtol = 1e-3}});
//   if (found) use((*found)[0].finish(PairStatistic::kCosine));
//
// b is the reference. The dtypes may differ. Sums are exact and each value is rounded once, so the distance of two
// nearly equal tensors has full precision.
//
// If two tensors arrive in pieces or are split over ranks, compare each piece of both with the index of its first
// element (PairRequest::first_index), and merge the partials in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <tensorstat/catalog.hpp>
#include <tensorstat/pair.inc>
#include <tensorstat/statistics.hpp>
#include <tensorstat/status.hpp>
#include <tensorstat/tensor.hpp>
#include <vector>

namespace tensorstat {

#define TENSORSTAT_ROW(id, ...) id,
enum class PairStatistic : std::uint8_t { TENSORSTAT_PAIR_STATISTICS(TENSORSTAT_ROW) };
#undef TENSORSTAT_ROW
#define TENSORSTAT_ROW(...) +1
inline constexpr int kPairStatisticCount = TENSORSTAT_PAIR_STATISTICS(TENSORSTAT_ROW);
#undef TENSORSTAT_ROW

// kCount and kIndex are uint64, kReal is a double. An index counts elements in C order.
enum class PairValueKind : std::uint8_t { kReal, kCount, kIndex };

std::string_view name(PairStatistic statistic);          // "max abs diff"
std::string_view formula(PairStatistic statistic);       // "sum of |a - b| / n"
std::string_view special_rule(PairStatistic statistic);  // its value for NaN, Inf and empty tensors
PairValueKind kind(PairStatistic statistic);
// Finds a statistic by its name; - or _ may stand for a space. nullopt for any other text.
std::optional<PairStatistic> pair_statistic(std::string_view name);

// A pair of elements is within tolerance if |a - b| <= atol + rtol * s, in binary64, each operation rounded.
struct PairTolerance {
  enum class Scale : std::uint8_t {
    kB,        // s is |b|, as in NumPy's allclose
    kGreater,  // s is the greater of |a| and |b|, as in Python's isclose
  };
  double rtol = 0, atol = 0;  // finite and not negative
  Scale scale = Scale::kB;    // "max rel diff" uses it, too

  bool is_valid() const;  // whether both numbers are so

  friend bool operator==(const PairTolerance&, const PairTolerance&) = default;
};

struct TensorPair {
  Tensor a, b;  // with equal element counts
};

// The accumulators of two tensors, or of the same part of both. Parts merge in any order to the same bits.
class PairPartial {
 public:
  // An empty partial.
  PairPartial(Dtype a, Dtype b, const PairTolerance& tolerance);

  Dtype dtype_a() const { return a_; }
  Dtype dtype_b() const { return b_; }
  const PairTolerance& tolerance() const { return tolerance_; }

  // Adds the elements of `other`. kInvalid if dtypes or tolerance differ, or if the counts overflow.
  Status merge(const PairPartial& other);

  // monostate if there is no value; <tensorstat/pair.inc> says when.
  Value finish(PairStatistic statistic) const;

  // A versioned, little-endian form: equal partials give equal bytes. It is empty if host memory is exhausted. `parse`
  // checks every byte and may read untrusted input.
  std::vector<std::byte> serialize() const;
  static Result<PairPartial> parse(std::span<const std::byte> bytes);

  // For engines. precision/pair/pair.h describes the words.
  std::span<std::int64_t> words() { return words_; }
  std::span<const std::int64_t> words() const { return words_; }

 private:
  Dtype a_, b_;
  PairTolerance tolerance_;
  std::vector<std::int64_t> words_;
};

}  // namespace tensorstat
