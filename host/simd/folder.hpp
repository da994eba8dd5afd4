// Folds a tensor, or a part of it, piece by piece into a partial's words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "host/simd/folds.hpp"
#include "host/simd/lane_folds.hpp"
#include "stats/core/engine/accumulator_layout.hpp"
#include "stats/core/engine/cast_bounds.hpp"
#include "stats/core/engine/quantile_bins.hpp"

namespace tensorstat::host {

// The fold with columns as lanes, for partials that keep `needs`; nullptr if there is none.
const LaneFold* lane_fold(Dtype dtype, Precision precision, Needs needs);

class Folder {
 public:
  // For partials that keep `needs`; digests are ignored. Clears `words`, which has at least partial_words(dtype, needs)
  // words. If quantiles are among the needs, `bins` is open for the dtype.
  Folder(Dtype dtype, Precision precision, Needs needs, std::span<std::int64_t> words, BinCounter* bins = nullptr,
         double cast_scale = 1);

  // Announces the address that is folded after the next piece, for prefetching; nullptr: directly after it, or unknown.
  void expect_next(const void* next) { next_ = static_cast<const std::uint8_t*>(next); }

  // Starts again without elements. The caller has cleared `bins`.
  void restart() {
    uncarried_ = 0;
    clear(dtype_, words_);
  }
  Dtype dtype() const { return dtype_; }

  // Folds whole elements, fewer than 2^29. In `low`, every piece but the last is a multiple of 1,024 elements.
  void take(std::span<const std::byte> elements) { take(elements, elements_of(dtype_, elements.size())); }
  // Folds the first `count` elements of these bytes. In every piece but the last, these are all.
  void take(std::span<const std::byte> elements, std::uint64_t count);

  // Carries need not be propagated; finish and merge accept that.
  std::span<const std::int64_t> words() const { return words_; }

 private:
  void take_words(std::span<const std::byte> elements, std::uint64_t count, const std::uint8_t* next);
  void take_fingerprints(std::span<const std::byte> elements);

  Fold fold_;
  Dtype dtype_;
  std::uint32_t element_bytes_;
  Needs needs_;
  std::span<std::int64_t> words_;
  BinCounter* bins_;
  CastBounds cast_bounds_;  // used if casts_ is not empty: casts at a scale other than 1
  Needs casts_;
  std::uint64_t uncarried_ = 0;  // elements since the last carry
  const std::uint8_t* next_ = nullptr;
};

}  // namespace tensorstat::host
