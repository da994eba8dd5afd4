// SPDX-License-Identifier: Apache-2.0
// Two tensors of one shape, compared element by element in one pass: how far they are apart, and where.
//
//   const TensorPair pair{a, b};
//   const auto found = meter.compare({&pair, 1}, {.tolerance = {.rtol = 1e-3}});
//   if (found) use((*found)[0].finish(PairStatistic::kCosine));
//
// b is the one that a is held against. The dtypes may differ. Sums are exact, and each value is rounded once: the
// distance of two nearly equal tensors has all its digits.
//
// Two tensors that arrive in pieces, or are cut over ranks, need no stream of their own. Each piece of both is compared
// with the index of its first element (PairRequest::first_index), and the partials merge, in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <tensorstat/catalog.hpp>
#include <tensorstat/pair.inc>
#include <tensorstat/statistics.hpp>
#include <tensorstat/status.hpp>
#include <tensorstat/tensor.hpp>

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
std::string_view formula(PairStatistic statistic);       // of what, as the list has it
std::string_view special_rule(PairStatistic statistic);  // what NaN, Inf and no elements do to it
PairValueKind kind(PairStatistic statistic);
// By its name, with - or _ where that has spaces; nullopt of any other text.
std::optional<PairStatistic> pair_statistic(std::string_view name);

// An element is within where |a - b| <= atol + rtol * s, in binary64, each operation rounded.
struct PairTolerance {
  enum class Scale : std::uint8_t {
    kB,        // s is |b|, as NumPy's allclose has it
    kGreater,  // s is the greater of |a| and |b|, as Python's isclose has it
  };
  double rtol = 0, atol = 0;  // finite, and not negative
  Scale scale = Scale::kB;    // of "max rel diff", too

  bool is_valid() const;  // whether both numbers are so

  friend bool operator==(const PairTolerance&, const PairTolerance&) = default;
};

struct TensorPair {
  Tensor a, b;  // of as many elements
};

// What a pass over two tensors, or over the same part of both, leaves behind. Parts merge in any order to the same bits.
class PairPartial {
 public:
  // Of no elements.
  PairPartial(Dtype a, Dtype b, const PairTolerance& tolerance);

  Dtype dtype_a() const { return a_; }
  Dtype dtype_b() const { return b_; }
  const PairTolerance& tolerance() const { return tolerance_; }

  // Takes in the elements of `other`: same dtypes and tolerance, else an error.
  Status merge(const PairPartial& other);

  // monostate where there is no value; <tensorstat/pair.inc> says when.
  Value finish(PairStatistic statistic) const;

  // A versioned, little-endian, canonical form: equal partials give equal bytes. `parse` takes nothing on trust.
  // Without memory there are no bytes.
  std::vector<std::byte> serialize() const;
  static Result<PairPartial> parse(std::span<const std::byte> bytes);

  // precision/pair/pair.h says what the words are; for engines.
  std::span<std::int64_t> words() { return words_; }
  std::span<const std::int64_t> words() const { return words_; }

 private:
  Dtype a_, b_;
  PairTolerance tolerance_;
  std::vector<std::int64_t> words_;
};

}  // namespace tensorstat
