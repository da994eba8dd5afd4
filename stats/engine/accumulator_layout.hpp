// The layout of a partial's words, by dtype and needs: the list of precision/partial.h for C++. Engines use it, too.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <tensorstat/partial.hpp>
#include <type_traits>

#include "precision/dtypes.hpp"
#include "precision/generated/families.h"
#include "precision/partial.h"

namespace tensorstat {

constexpr const precision::DtypeFacts& facts(Dtype dtype) { return precision::kDtypeFacts[static_cast<int>(dtype)]; }
#define ROW(id, dtype, ...) \
  static_assert(facts(Dtype::id).name == #dtype, "precision/dtypes.txt has the catalog's order");
TENSORSTAT_DTYPES(ROW)
#undef ROW
static_assert(std::size(precision::kDtypeFacts) == kDtypeCount);

// The need bits of the list equal the public ones. Digests have no bit in the list.
#define ROW(id, name) static_assert(std::uint32_t{name} == std::uint32_t{NEED_##id});
NEED_ROWS(ROW)
#undef ROW
static_assert(std::uint32_t{kOfElements} == std::uint32_t{NEED_ELEMENTS});
static_assert(std::uint32_t{kFingerprints} == std::uint32_t{NEED_FINGERPRINTS});
static_assert(std::uint32_t{kIndices} == std::uint32_t{NEED_INDICES});
static_assert(std::uint32_t{kExponents} == std::uint32_t{NEED_EXPONENTS});
static_assert(std::uint32_t{NEED_ALL} < 2 * std::uint32_t{kExponents}, "their words are the last of a partial");
static_assert((kDigests & std::uint32_t{NEED_ALL}) == 0);

// An accumulator of one word. For the fields, the index in kFields is the word's index.
struct PartialField {
  bool by_maximum;
  Needs need;
};
#define MAXIMUM true
#define ADDITION false
#define ROW(id, merge, need) PartialField{merge, NEED_##need},
inline constexpr std::array kFields = {FIELD_ROWS(ROW)};
#undef ROW
static_assert(std::ranges::is_partitioned(kFields, &PartialField::by_maximum),
              "MERGES_BY_MAXIMUM rests on their order");

// The exact sums, in the order of their words.
#define ROW(id, ...) EXACT_##id,
enum : std::size_t { EXACT_ROWS(ROW) EXACT_SUMS };
#undef ROW

// An exact sum: words[first, first + count), in units of 2^exponent.
struct ExactSum {
  std::size_t first, count;
  int exponent;
  Needs need;
  bool optional;
  int above, below;  // the factors of elements above and below 0
  constexpr bool is_in(Needs needs) const { return !optional || (needs & NEED_ALL) >= need; }
};
using AccumulatorLayout = std::array<ExactSum, EXACT_SUMS>;

#define ROW(id, words, power, need, optional, above, below, family) \
  ExactSum{OFFSET_##id##_##family,                                  \
           words##_##family,                                        \
           power * int{SUM_EXPONENT_##family},                      \
           NEED_##need,                                             \
           optional != 0,                                           \
           above,                                                   \
           below},
#define LAYOUT(family, ...) AccumulatorLayout{EXACT_ROWS(ROW, family)},
inline constexpr AccumulatorLayout kLayoutsOfFamilies[] = {FAMILIES(LAYOUT)};
#undef LAYOUT
#undef ROW

#define ROW(id, name, ...) &kLayoutsOfFamilies[static_cast<int>(facts(Dtype::id).family)],
inline constexpr const AccumulatorLayout* kLayouts[] = {TENSORSTAT_DTYPES(ROW)};
#undef ROW
constexpr const AccumulatorLayout& layout(Dtype dtype) { return *kLayouts[static_cast<int>(dtype)]; }

// After the sums: the words of precision/elements.h, in their order.
#define ROW(id, merge, need, ...) PartialField{merge, NEED_##need},
inline constexpr std::array kElements = {ELEMENT_ROWS(ROW, )};
#undef ROW
static_assert(std::ranges::is_sorted(kElements, {}, &PartialField::need),
              "which words there are rests on the order of needs");
#undef MAXIMUM
#undef ADDITION
constexpr std::size_t first_element(Dtype dtype) { return layout(dtype).back().first + layout(dtype).back().count; }

// After these: the words of precision/fingerprints.h, if they, or words after them, are needed.
#define ROW(id, name) NEED_##id,
inline constexpr std::array<int, FINGERPRINT_WORDS> kFingerprintNeeds = {FINGERPRINT_ROWS(ROW)};
#undef ROW
constexpr std::size_t first_fingerprint(Dtype dtype) { return first_element(dtype) + kElements.size(); }

// After these: the pairs of precision/indices.h, if they, or words after them, are needed.
constexpr std::size_t first_index(Dtype dtype) { return first_fingerprint(dtype) + FINGERPRINT_WORDS; }
constexpr bool is_fingerprint(Dtype dtype, std::size_t word) {
  return word >= first_fingerprint(dtype) && word < first_index(dtype);
}

// Last: the counts of precision/exponents.h.
constexpr std::size_t first_exponent(Dtype dtype) { return first_index(dtype) + INDEX_WORDS; }
constexpr std::size_t exponent_words(Dtype dtype) { return static_cast<std::size_t>(facts(dtype).exponents); }

// The exponent field of a float's NaN and infinities. 0 for integers, which have neither.
constexpr std::size_t special_exponent(Dtype dtype) {
  const precision::DtypeFacts& of = facts(dtype);
  return of.is_float ? (of.largest + !of.has_inf) >> of.mantissa_shift : 0;
}

constexpr std::size_t word_count(Dtype dtype, Needs needs) {
  if ((needs & kExponents) != 0) return first_exponent(dtype) + exponent_words(dtype);
  if ((needs & kIndices) != 0) return first_exponent(dtype);
  if ((needs & kFingerprints) != 0) return first_index(dtype);
  std::size_t end = PARTIAL_FIELDS;
  for (const ExactSum& sum : layout(dtype)) {
    if (sum.is_in(needs)) end = sum.first + sum.count;
  }
  for (std::size_t i = 0; i < kElements.size(); ++i) {
    if ((needs & NEED_ALL) >= kElements[i].need) end = first_element(dtype) + i + 1;
  }
  return end;
}

// The largest word count of any partial.
inline constexpr std::size_t kMostWords = [] {
  std::size_t most = 0;
  for (int i = 0; i < kDtypeCount; ++i) most = std::max(most, word_count(static_cast<Dtype>(i), NEED_ALL));
  return most;
}();

// The need for which a word is kept; kNothing if it is always kept.
constexpr Needs need_of(Dtype dtype, std::size_t word) {
  if (word < kFields.size()) return kFields[word].need;
  for (const ExactSum& sum : layout(dtype)) {
    if (word < sum.first + sum.count) return sum.need;
  }
  if (word < first_fingerprint(dtype)) return kElements[word - first_element(dtype)].need;
  if (word < first_index(dtype)) return static_cast<Needs>(kFingerprintNeeds[word - first_fingerprint(dtype)]);
  return word < first_exponent(dtype) ? kIndices : kExponents;
}

// As MERGES_BY_MAXIMUM, true for both words of a pair of precision/indices.h.
constexpr bool merges_by_maximum(Dtype dtype, std::size_t word) {
  if (word >= first_index(dtype)) return word < first_exponent(dtype);
  if (word >= first_fingerprint(dtype)) return false;
  const std::size_t elements = first_element(dtype);
  return word < elements ? word < PARTIAL_MERGED_BY_MAXIMUM : kElements[word - elements].by_maximum;
}

inline constexpr std::int64_t kEmptyMaximum = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t empty_word(Dtype dtype, std::size_t word) {
  return merges_by_maximum(dtype, word) ? kEmptyMaximum : 0;
}

// Calls maximum(i) or addition(i) for each word of a partial, by how it merges. Fingerprints count as additions: their
// empty value is 0, too. The loops go over ranges of words: a look-up for each word cost a tenth of the time of a 4 KiB
// tensor.
template <typename Maximum, typename Addition>
void for_each_word(Dtype dtype, std::size_t words, const Maximum& maximum, const Addition& addition) {
  const std::size_t elements = std::min(first_element(dtype), words);
  const std::size_t fingerprints = std::min(first_fingerprint(dtype), words);
  const std::size_t indices = std::min(first_index(dtype), words), exponents = std::min(first_exponent(dtype), words);
  for (std::size_t i = 0; i < PARTIAL_MERGED_BY_MAXIMUM; ++i) maximum(i);
  for (std::size_t i = PARTIAL_MERGED_BY_MAXIMUM; i < elements; ++i) addition(i);
  if (elements == words) return;
  for (std::size_t i = elements; i < fingerprints; ++i) kElements[i - elements].by_maximum ? maximum(i) : addition(i);
  for (std::size_t i = fingerprints; i < indices; ++i) addition(i);
  for (std::size_t i = indices; i < exponents; ++i) maximum(i);
  for (std::size_t i = exponents; i < words; ++i) addition(i);
}

// The bits of an unpacked element, and of its key.
constexpr int key_bits(Dtype dtype) { return facts(dtype).bits; }

// Whether the elements are signed integers.
constexpr bool is_signed_integer(Dtype dtype) { return facts(dtype).is_signed; }

// Whether precision/fold/fold_unpacked.h folds the dtype: it counts how often each of 256 bytes occurs.
constexpr bool unpacks(Dtype dtype) { return facts(dtype).unpacks; }

// The needs that a partial of this dtype can keep. Complex elements have no extrema, and no counts by size or sign
// except of zeros.
constexpr Needs kept(Dtype dtype, Needs needs) {
  return is_complex(dtype) ? needs & (kSigns | kSquares | kFingerprints | kIndices | kDigests) : needs;
}

// Whether sums use the dtype's own arithmetic (precision/low/). Dtypes without one sum as in `high`.
constexpr bool is_low(Dtype dtype, Precision precision) { return precision == Precision::kLow && facts(dtype).has_low; }

}  // namespace tensorstat
