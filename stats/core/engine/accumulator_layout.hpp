// The layout of a partial's words, by dtype and needs: the list of precision/partial.h for C++. Engines use it, too.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "precision/dtypes.hpp"
#include "precision/generated/families.h"
#include "precision/partial.h"
#include "stats/core/engine/needs.hpp"
#include "stats/core/engine/partial_layout.hpp"

namespace tensorstat {

constexpr const precision::DtypeFacts& facts(Dtype dtype) { return precision::kDtypeFacts[static_cast<int>(dtype)]; }
#define ROW(id, dtype, ...) \
  static_assert(facts(Dtype::id).name == #dtype, "precision/dtypes.txt has the catalog's order");
TENSORSTAT_DTYPES(ROW)
#undef ROW
static_assert(std::size(precision::kDtypeFacts) == kDtypeCount);

constexpr PartialLayout layout_of_family(const FamilyWords& family) {
#define FIELD(id, rule, need) {#id, MergeRule::rule, 1, NEED_##need, kNothing},
#define SUM(id, words, power, need, optional, above, below, ...)                                             \
  {#id,  MergeRule::ADDITION,         family.words, NEED_##need, (optional) ? Needs{NEED_##need} : kNothing, \
   true, (power)*family.SUM_EXPONENT, above,        below},
#define ELEMENT(id, rule, need, ...) {#id, MergeRule::rule, 1, NEED_##need, NEED_##need},
#define FINGERPRINT(id, name) {#id, MergeRule::CHECKSUM, 1, NEED_##id, NEED_CRC32},
#define INDEX(id, dtypes) {"AT_" #id, MergeRule::KEYED, 2, NEED_INDICES, NEED_INDICES},
  return {FIELD_ROWS(FIELD) EXACT_ROWS(SUM, ) ELEMENT_ROWS(ELEMENT, ) FINGERPRINT_ROWS(FINGERPRINT)
              INDEX_ROWS(INDEX){"EXPONENTS", MergeRule::ADDITION, family.EXPONENTS, NEED_EXPONENTS, NEED_EXPONENTS}};
#undef FIELD
#undef SUM
#undef ELEMENT
#undef FINGERPRINT
#undef INDEX
}
#define ROW(family, ...) layout_of_family({__VA_ARGS__}),
inline constexpr PartialLayout kLayoutsOfFamilies[] = {FAMILIES(ROW)};
#undef ROW

#define ROW(id, name, ...) &kLayoutsOfFamilies[static_cast<int>(facts(Dtype::id).family)],
inline constexpr const PartialLayout* kLayouts[] = {TENSORSTAT_DTYPES(ROW)};
#undef ROW
constexpr const PartialLayout& layout(Dtype dtype) { return *kLayouts[static_cast<int>(dtype)]; }

// The number of an exact sum in layout(dtype).sums().
#define ROW(id, ...) EXACT_##id,
enum : std::size_t { EXACT_ROWS(ROW, ) EXACT_SUMS };
#undef ROW

// The first words of precision/elements.h, fingerprints.h, indices.h and exponents.h. They exist if they, or words
// after them, are needed.
constexpr std::size_t first_element(Dtype dtype) { return layout(dtype).behind_sums()[0].first; }
constexpr std::size_t first_fingerprint(Dtype dtype) { return first_element(dtype) + ELEMENT_WORDS; }
constexpr std::size_t first_index(Dtype dtype) { return first_fingerprint(dtype) + FINGERPRINT_WORDS; }
constexpr std::size_t first_exponent(Dtype dtype) { return first_index(dtype) + INDEX_WORDS; }
constexpr std::size_t exponent_words(Dtype dtype) { return static_cast<std::size_t>(facts(dtype).exponents); }

// The exponent field of a float's NaN and infinities. 0 for integers, which have neither.
constexpr std::size_t special_exponent(Dtype dtype) {
  const precision::DtypeFacts& format = facts(dtype);
  return format.is_float ? (format.largest + !format.has_inf) >> format.mantissa_shift : 0;
}

// The kernels find the words by the names of precision/partial.h.
constexpr bool has_offsets(const PartialLayout& layout, std::size_t checksums, std::size_t exponents,
                           std::size_t most) {
  return layout.behind_sums()[0].first + ELEMENT_WORDS == checksums && layout.all().back().first == exponents &&
         layout.words() == most && layout.runs()[0].end == PARTIAL_MERGED_BY_MAXIMUM &&
         std::ranges::is_sorted(layout.all(), {}, &Accumulator::since);
}
#define ROW(family, ...)                                                                                              \
  static_assert(has_offsets(layout_of_family({__VA_ARGS__}), OFFSET_FINGERPRINTS_##family, OFFSET_EXPONENTS_##family, \
                            MOST_WORDS_##family));
FAMILIES(ROW)
#undef ROW

// The largest word count of any partial.
inline constexpr std::size_t kMostWords =
    std::ranges::max(kLayoutsOfFamilies, {}, [](const PartialLayout& layout) { return layout.words(); }).words();

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

// The word count of a partial with `needs`.
constexpr std::size_t partial_words(Dtype dtype, Needs needs) { return layout(dtype).words(kept(dtype, needs)); }

// The functions of a Partial on bare words, for engines that keep many.
inline void clear(Dtype dtype, std::span<std::int64_t> words) { clear(layout(dtype), words); }
inline void merge(Dtype dtype, std::span<std::int64_t> into, std::span<const std::int64_t> from,
                  std::uint64_t first = 0, Maxima maxima = Maxima::kPlain) {
  merge(layout(dtype), into, from, first, bytes_of(dtype, first), maxima);
}
inline void carry(Dtype dtype, std::span<std::int64_t> words) { carry(layout(dtype), words); }

}  // namespace tensorstat
