// Folds a tensor, or any part of it, piece after piece into a partial's words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <tensorstat/partial.hpp>

#include "host/simd/folds.hpp"
#include "host/simd/lane_folds.hpp"
#include "stats/engine/cast_bounds.hpp"
#include "stats/engine/quantile_bins.hpp"

namespace tensorstat::host {

// The fold whose lanes are columns, for partials that keep `needs`, if there is one.
const LaneFold* lane_fold(Dtype dtype, Precision precision, Needs needs);

class Folder {
 public:
  // For partials that keep `needs`, digests aside; on the widest instruction set that is in use. `words` are
  // partial_words(dtype, needs) or more, and are cleared. `bins` is open for the dtype, where quantiles are among the needs.
  Folder(Dtype dtype, Precision precision, Needs needs, std::span<std::int64_t> words, BinCounter* bins = nullptr,
         double cast_scale = 1);

  // Where that lies which is folded after what is taken next; nullptr: behind it, or nobody knows.
  void expect_next(const void* next) { next_ = static_cast<const std::uint8_t*>(next); }

  // Of no elements again; `bins` have been cleared.
  void restart() {
    uncarried_ = 0;
    clear(dtype_, words_);
  }
  Dtype dtype() const { return dtype_; }

  // Whole elements, below 2^29 of them; in `low`, a whole number of tiles of 1,024 in every piece but the last.
  void take(std::span<const std::byte> elements) { take(elements, elements_of(dtype_, elements.size())); }
  // The first `count` elements of these bytes: in every piece but the last, all.
  void take(std::span<const std::byte> elements, std::uint64_t count);

  // In a state of carry that finishing and merging accept.
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
  CastBounds cast_bounds_;  // where casts_ are kept, whose scale is not 1
  Needs casts_;
  std::uint64_t uncarried_ = 0;  // elements since the last carry
  const std::uint8_t* next_ = nullptr;
};

}  // namespace tensorstat::host
