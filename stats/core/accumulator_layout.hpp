// Where a partial's words are (precision/partial.h), by dtype.
#pragma once

#include <cstddef>

#include <tensorstat/catalog.hpp>

#include "precision/families.h"
#include "precision/formats.h"
#include "precision/partial.h"

namespace tensorstat {

struct AccumulatorLayout {
  std::size_t sum_words, square_words;
  int sum_exponent;
  constexpr std::size_t squares() const { return PARTIAL_SUM + sum_words; }
  constexpr std::size_t words() const { return squares() + square_words; }
};

#define LAYOUT(family) {CAT(SUM_WORDS_, family), CAT(SQUARE_WORDS_, family), CAT(SUM_EXPONENT_, family)},
#define ROW(id, name, ...) LAYOUT(FAMILY_OF(name))
inline constexpr AccumulatorLayout kLayouts[] = {TENSORSTAT_DTYPES(ROW)};
#undef ROW
#undef LAYOUT

constexpr const AccumulatorLayout& layout(Dtype dtype) { return kLayouts[static_cast<int>(dtype)]; }

}  // namespace tensorstat
