// Two tensors, element by element.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <tensorstat/catalog.hpp>

#include "stats/compare/judge.hpp"

namespace tensorstat {

// Indices count elements in C order. A difference is |a - b| of the elements' values, rounded once to binary64 (of a
// 64-bit integer and a float: twice). Two NaN are equal, and so are two infinities of one sign; a NaN or an Inf against
// anything else is infinitely far away.
struct ElementDifferences {
  std::uint64_t count = 0;
  std::uint64_t unequal_count = 0;  // by bits; of two dtypes: by value
  std::optional<std::uint64_t> first_unequal = {};
  double max_abs = 0;  // greatest difference
  std::optional<std::uint64_t> max_abs_at = {};
  double max_rel = 0;  // greatest difference / max(|a|, |b|)
  std::uint64_t outside_count = 0;  // not |a - b| <= atol + rtol * max(|a|, |b|)
  std::optional<std::uint64_t> first_outside = {};
};

// Streams: each call brings the next elements of both.
class ElementComparison {
 public:
  ElementComparison(Dtype a, Dtype b, const Tolerance& tolerance) : a_(a), b_(b), tolerance_(tolerance) {}

  // As many whole elements of `b` as of `a`, in this machine's byte order.
  void add(std::span<const std::byte> a, std::span<const std::byte> b);

  const ElementDifferences& found() const { return found_; }
  Judgement judgement() const;

 private:
  Dtype a_, b_;
  Tolerance tolerance_;
  ElementDifferences found_;
};

}  // namespace tensorstat
