// The layout of a PairPartial's words: the list of precision/pair/pair.h for C++. Engines use it, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tensorstat/pair.hpp>

#include "precision/generated/families.h"
#include "precision/pair/pair.h"
#include "stats/core/engine/partial_layout.hpp"

namespace tensorstat {

constexpr PartialLayout layout_of_pairs(const FamilyWords& family) {
#define FIELD(id, rule) {#id, MergeRule::rule, 1, kNothing, kNothing},
#define SUM(id, words, power, ...) \
  {#id, MergeRule::ADDITION, family.words, kNothing, kNothing, true, (power)*family.SUM_EXPONENT},
  return {PAIR_FIELD_ROWS(FIELD) PAIR_EXACT_ROWS(SUM, )};
#undef FIELD
#undef SUM
}
#define LAYOUT(family) layout_of_pairs({SUM_WORDS_##family, SQUARE_WORDS_##family, SUM_EXPONENT_##family, 0}),
inline constexpr PartialLayout kPairLayouts[] = {PAIR_FAMILIES(LAYOUT)};
#undef LAYOUT
static_assert(kPairLayouts[0].words() == PAIR_WORDS_Float && kPairLayouts[1].words() == PAIR_WORDS_Double);

// The number of an exact sum in pair_layout(a, b).sums().
#define ROW(id, ...) PAIR_SUM_##id,
enum : std::size_t { PAIR_EXACT_ROWS(ROW, ) PAIR_SUMS };
#undef ROW

// Whether the sums have the words of float64.
constexpr bool is_wide(Dtype a, Dtype b) { return size_bytes(a) == 8 || size_bytes(b) == 8; }
constexpr const PartialLayout& pair_layout(Dtype a, Dtype b) { return kPairLayouts[is_wide(a, b)]; }
constexpr std::size_t pair_words(Dtype a, Dtype b) { return pair_layout(a, b).words(); }
inline constexpr std::size_t kMostPairWords = PAIR_WORDS_Double;

inline pair_kind pair_kind_of(Dtype a, Dtype b) {
  const bool floats = is_float(a) && is_float(b);
  const int of_floats = a == b ? STEPS_OWN : is_wide(a, b) ? STEPS_BINARY64 : STEPS_BINARY32;
  return {.same_dtype = a == b, .steps = floats ? of_floats : STEPS_NONE, .is_wide = is_wide(a, b)};
}

}  // namespace tensorstat
