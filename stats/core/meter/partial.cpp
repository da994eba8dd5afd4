#include <algorithm>
#include <charconv>
#include <limits>
#include <tensorstat/partial.hpp>
#include <tuple>

#include "stats/core/base/caught.hpp"
#include "stats/core/base/float_environment.hpp"
#include "stats/core/engine/accumulator_layout.hpp"
#include "stats/core/engine/finish.hpp"
#include "stats/core/engine/quantile_bins.hpp"

namespace tensorstat {
Needs needs(const Categories& categories, Precision precision) {
  Needs all = kNothing;
  for (const Category category : categories) all |= needs(category);
  // In `low` the mean is clamped to the range of the data, so it needs the extrema.
  if (precision == Precision::kLow && (all & kSum) != 0) all |= kExtrema;
  return all;
}

namespace {

std::string shown_scale(double scale) {
  char text[32];
  return std::string(text, std::to_chars(text, std::end(text), scale).ptr);
}

}  // namespace

Partial::Partial(Dtype dtype, Precision precision, Needs needs, double cast_scale)
    : dtype_(dtype),
      precision_(precision),
      needs_(kept(dtype, needs) & (Needs{NEED_ALL} | kQuantiles)),  // digests do not merge
      word_count_(static_cast<std::uint32_t>(partial_words(dtype, needs_))),
      cast_scale_((needs_ & kCasts) != 0 ? cast_scale : 1) {
  static_assert(partial_words(Dtype::kFloat32, kNothing) <= std::tuple_size_v<decltype(few_)>);
  if (word_count_ > few_.size()) many_.resize(word_count_);
  clear(layout(dtype), words());
}

bool Partial::keeps(Category category) const { return (tensorstat::needs(category) & ~needs_) == 0; }

std::uint64_t Partial::count() const { return static_cast<std::uint64_t>(words()[PARTIAL_COUNT]); }

Status Partial::merge(const Partial& other) try {
  const FloatEnvironment ieee;
  if (cast_scale_ != other.cast_scale_) {
    return Error{Code::kInvalid, "cannot merge partials with different cast scales: " + shown_scale(other.cast_scale_) +
                                     " into " + shown_scale(cast_scale_)};
  }
  if (dtype_ != other.dtype_ || precision_ != other.precision_ || needs_ != other.needs_) {
    return Error{Code::kInvalid, "cannot merge a partial of " + std::string(name(other.dtype_)) + " (" +
                                     std::string(name(other.precision_)) + ") into one of " +
                                     std::string(name(dtype_)) + " (" + std::string(name(precision_)) +
                                     "): dtype, precision and categories must agree"};
  }
  if (!fit_together(layout(dtype_), words(), other.words())) {
    return Error{Code::kInvalid, "cannot merge two partials: the combined counts exceed what a partial can hold"};
  }
  if ((needs_ & kQuantiles) != 0) tensorstat::merge(bins_, {.kept = other.bins_});
  tensorstat::merge(dtype_, words(), other.words());
  return {};
} catch (...) {
  return caught();
}

Status Partial::move_to(std::uint64_t first) try {
  if (first % elements_a_byte(dtype_) != 0 && (needs_ & kFingerprints) != 0) {
    return Error{Code::kInvalid, "cannot move a partial of " + std::string(name(dtype_)) +
                                     " with checksums to element " + std::to_string(first) + ": there no byte begins"};
  }
  if (Status status = move_indices(first); !status) return status;
  if (words().size() > first_fingerprint(dtype_)) {
    move_checksums(&words()[first_fingerprint(dtype_)], bytes_of(dtype_, first));
  }
  return {};
} catch (...) {
  return caught();
}

Status Partial::move_indices(std::uint64_t first) {
  if ((needs_ & kIndices) == 0) return {};
  const auto indices = words().subspan(first_index(dtype_), INDEX_WORDS);
  // The complement of one more is kEmptyMaximum.
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) - 1;
  for (std::size_t i = 1; i < indices.size(); i += 2) {
    if (indices[i] == kEmptyMaximum || first <= kMost - static_cast<std::uint64_t>(~indices[i])) continue;
    return Error{Code::kInvalid,
                 "cannot move a partial to element " + std::to_string(first) + ": an index would reach 2^63 - 1"};
  }
  for (std::size_t i = 1; i < indices.size(); i += 2) {
    if (indices[i] != kEmptyMaximum) indices[i] -= static_cast<std::int64_t>(first);
  }
  return {};
}

Value Partial::finish(Category category) const {
  const FloatEnvironment ieee;
  return tensorstat::finish({dtype_, precision_, needs_, words(), {.kept = bins_}}, category);
}
Value Partial::finish_binary32(Category category) const {
  const FloatEnvironment ieee;
  return tensorstat::finish({dtype_, precision_, needs_, words(), {.kept = bins_}}, category, true);
}

}  // namespace tensorstat
