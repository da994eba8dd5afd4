#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <tensorstat/partial.hpp>
#include <tuple>

#include "precision/scalars.hpp"
#include "stats/base/caught.hpp"
#include "stats/engine/accumulator_layout.hpp"
#include "stats/engine/finish.hpp"
#include "stats/engine/quantile_bins.hpp"
#include "stats/meter/written_words.hpp"

namespace {
#include "precision/checksum.h"
#include "precision/exact.h"
#include "precision/keyed.h"
}  // namespace

namespace tensorstat {
namespace {

// The second word of a pair of precision/indices.h is ~index, or this if there is no element.
constexpr std::int64_t kNoIndex = std::numeric_limits<std::int64_t>::min();

}  // namespace

Needs needs(const Categories& categories, Precision precision) {
  Needs all = kNothing;
  for (const Category category : categories) all |= needs(category);
  // In `low` the mean is clamped to the range of the data, so it needs the extrema.
  if (precision == Precision::kLow && (all & kSum) != 0) all |= kExtrema;
  return all;
}

std::size_t partial_words(Dtype dtype, Needs needs) { return word_count(dtype, kept(dtype, needs)); }

void carry(Dtype dtype, std::span<std::int64_t> words) {
  for (const ExactSum& sum : layout(dtype)) {
    if (sum.first < words.size()) carry_words(&words[sum.first], static_cast<int>(sum.count));
  }
}

void clear(Dtype dtype, std::span<std::int64_t> words) {
  for_each_word(
      dtype, words.size(), [&](std::size_t i) { words[i] = kEmptyMaximum; }, [&](std::size_t i) { words[i] = 0; });
}

namespace {

// Moves the words of precision/fingerprints.h of a part to the byte at which it begins in the whole.
void move_fingerprints(std::int64_t* words, std::uint64_t first_byte) {
  words[FINGERPRINT_WORD_CRC32] =
      crc_moved(static_cast<std::uint32_t>(words[FINGERPRINT_WORD_CRC32]), crc_back, first_byte);
  words[FINGERPRINT_WORD_XOR64] =
      static_cast<std::int64_t>(xor_moved(static_cast<std::uint64_t>(words[FINGERPRINT_WORD_XOR64]), first_byte));
}

}  // namespace

void merge(Dtype dtype, std::span<std::int64_t> into, std::span<const std::int64_t> from, std::uint64_t first) {
  const std::size_t fingerprints = std::min(first_fingerprint(dtype), into.size());
  const std::size_t pairs = std::min(first_index(dtype), into.size());
  const std::size_t exponents = std::min(first_exponent(dtype), into.size());
  for_each_word(
      dtype, fingerprints, [&](std::size_t i) { into[i] = std::max(into[i], from[i]); },
      [&](std::size_t i) { into[i] += from[i]; });
  if (fingerprints != pairs) {
    std::array<std::int64_t, FINGERPRINT_WORDS> moved;
    std::ranges::copy(from.subspan(fingerprints, FINGERPRINT_WORDS), moved.begin());
    move_fingerprints(moved.data(), bytes_of(dtype, first));
    for (std::size_t i = 0; i < moved.size(); ++i) into[fingerprints + i] ^= moved[i];
  }
  for (std::size_t i = exponents; i < into.size(); ++i) into[i] += from[i];
  for (std::size_t i = pairs; i < exponents; i += 2) {
    if (from[i + 1] != kNoIndex) raise_keyed(&into[i], from[i], from[i + 1] - static_cast<std::int64_t>(first));
  }
  carry(dtype, into);
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
      word_count_(static_cast<std::uint32_t>(word_count(dtype, needs_))),
      cast_scale_((needs_ & kCasts) != 0 ? cast_scale : 1) {
  static_assert(word_count(Dtype::kFloat32, kNothing) == std::tuple_size_v<decltype(few_)>);
  if (word_count_ > few_.size()) many_.resize(word_count_);
  clear(dtype, words());
}

std::uint64_t Partial::count() const { return static_cast<std::uint64_t>(words()[PARTIAL_COUNT]); }

Status Partial::merge(const Partial& other) try {
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
  for (std::size_t i = 0; i < words().size(); ++i) {
    if (is_fingerprint(dtype_, i) || merges_by_maximum(dtype_, i)) continue;
    if (!fit_one_word(words()[i], other.words()[i])) {
      return Error{Code::kInvalid, "cannot merge two partials: the combined counts exceed what a partial can hold"};
    }
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
    move_fingerprints(&words()[first_fingerprint(dtype_)], bytes_of(dtype_, first));
  }
  return {};
} catch (...) {
  return caught();
}

Status Partial::move_indices(std::uint64_t first) {
  if ((needs_ & kIndices) == 0) return {};
  const auto indices = words().subspan(first_index(dtype_), INDEX_WORDS);
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  for (std::size_t i = 1; i < indices.size(); i += 2) {
    if (indices[i] == kNoIndex || first <= kMost - static_cast<std::uint64_t>(~indices[i])) continue;
    return Error{Code::kInvalid,
                 "cannot move a partial to element " + std::to_string(first) + ": an index would reach 2^63"};
  }
  for (std::size_t i = 1; i < indices.size(); i += 2) {
    if (indices[i] != kNoIndex) indices[i] -= static_cast<std::int64_t>(first);
  }
  return {};
}

Value Partial::finish(Category category) const {
  return tensorstat::finish({dtype_, precision_, needs_, words(), {.kept = bins_}}, category);
}
Value Partial::finish_binary32(Category category) const {
  return tensorstat::finish({dtype_, precision_, needs_, words(), {.kept = bins_}}, category, true);
}

}  // namespace tensorstat
