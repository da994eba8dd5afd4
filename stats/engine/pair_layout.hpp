// The layout of a PairPartial's words: the list of precision/pair/pair.h for C++. Engines use it, too.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <tensorstat/pair.hpp>

#include "precision/pair/pair.h"

namespace tensorstat {

// How a word merges. KEY and AT merge together.
enum class PairMerge : std::uint8_t { ADDITION, MAXIMUM, KEY, AT };
#define ROW(id, merge) PairMerge::merge,
inline constexpr std::array kPairFields = {PAIR_FIELD_ROWS(ROW)};
#undef ROW

#define ROW(id, ...) PAIR_SUM_##id,
enum : std::size_t { PAIR_EXACT_ROWS(ROW, ) PAIR_SUMS };
#undef ROW

// words[first, first + count), in units of 2^exponent.
struct PairSum {
  std::size_t first, count;
  int exponent;
};
using PairLayout = std::array<PairSum, PAIR_SUMS>;

#define ROW(id, words, power, family) \
  PairSum{PAIR_OFFSET_##id##_##family, words##_##family, power * int{SUM_EXPONENT_##family}},
inline constexpr PairLayout kPairLayouts[] = {{PAIR_EXACT_ROWS(ROW, Float)}, {PAIR_EXACT_ROWS(ROW, Double)}};
#undef ROW

// Whether the sums have the words of float64.
constexpr bool is_wide(Dtype a, Dtype b) { return size_bytes(a) == 8 || size_bytes(b) == 8; }
constexpr const PairLayout& pair_layout(Dtype a, Dtype b) { return kPairLayouts[is_wide(a, b)]; }
inline constexpr std::size_t kPairWords[] = {PAIR_WORDS_Float, PAIR_WORDS_Double};
constexpr std::size_t pair_words(Dtype a, Dtype b) { return kPairWords[is_wide(a, b)]; }
inline constexpr std::size_t kMostPairWords = PAIR_WORDS_Double;

inline pair_kind pair_kind_of(Dtype a, Dtype b) {
  const bool floats = is_float(a) && is_float(b);
  const int of_floats = a == b ? STEPS_OWN : is_wide(a, b) ? STEPS_BINARY64 : STEPS_BINARY32;
  return {.same_dtype = a == b, .steps = floats ? of_floats : STEPS_NONE, .is_wide = is_wide(a, b)};
}

// The empty value of a maximum, a key or an index.
inline constexpr std::int64_t kNoPlace = std::numeric_limits<std::int64_t>::min();

constexpr std::int64_t empty_pair_word(std::size_t word) {
  const bool adds = word >= kPairFields.size() || kPairFields[word] == PairMerge::ADDITION;
  return adds ? 0 : kNoPlace;
}

// `words` has pair_words(a, b) words.
void clear_pair(std::span<std::int64_t> words);
void merge_pair(Dtype a, Dtype b, std::span<std::int64_t> into, std::span<const std::int64_t> from);

}  // namespace tensorstat
