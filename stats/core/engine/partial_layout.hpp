// A list of accumulators as a value: where the words of each are in a partial, and how they merge. The partials of one
// tensor (accumulator_layout.hpp) and of two (pair_layout.hpp) are both such lists. These functions clear, merge and
// carry them all; core/meter/written_form.hpp writes and reads them.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string_view>

#include "precision/partial.h"
#include "stats/core/engine/needs.hpp"

namespace tensorstat {

// The columns of a family's row about its partials (precision/families.txt).
struct FamilyWords {
  std::uint32_t SUM_WORDS, SQUARE_WORDS;
  int SUM_EXPONENT;
  std::uint32_t EXPONENTS;
};

// How words merge, in the terms of the lists in precision/.
enum class MergeRule : std::uint8_t {
  ADDITION,
  MAXIMUM,
  KEYED,     // two successive words: a key, and ~index of its element (precision/keyed.h)
  CHECKSUM,  // all words of precision/fingerprints.h, which are moved to their place in the whole
  KEY = KEYED,
  AT = KEYED,
};

struct Accumulator {
  std::string_view name;  // its row's id
  MergeRule rule;
  std::uint32_t count;  // of its words
  Needs need;           // the need that keeps it; kNothing: it is always kept
  // A partial has its words if the partial's needs, compared as numbers, reach this. So a partial has the first words
  // of its list, up to those that it keeps.
  Needs since;
  // For an exact sum: its unit is 2^exponent, and the elements above and below 0 have these factors.
  bool is_sum = false;
  int exponent = 0, above = 0, below = 0;
  std::uint32_t first = 0;  // word; the list says it

  constexpr bool is_kept(Needs needs) const { return need == kNothing || (needs & need) != 0; }
  template <typename Word>
  constexpr std::span<Word> of(std::span<Word> words) const {
    return words.subspan(first, count);
  }
};

// The empty word of a maximum, a key or ~index.
inline constexpr std::int64_t kEmptyMaximum = std::numeric_limits<std::int64_t>::min();

class PartialLayout {
 public:
  static constexpr std::size_t kMost = 40;  // accumulators

  // In the order of the words. The sums stand together.
  constexpr PartialLayout(std::initializer_list<Accumulator> accumulators) {
    for (Accumulator each : accumulators) {
      each.first = words_;
      words_ += each.count;
      if (each.is_sum && sums_++ == 0) first_sum_ = size_;
      if (runs_ == 0 || all_runs_[runs_ - 1].rule != each.rule) all_runs_[runs_++].rule = each.rule;
      all_runs_[runs_ - 1].end = words_;
      for (std::size_t bits = static_cast<std::size_t>(std::bit_width(each.since)); bits < words_of_.size(); ++bits) {
        words_of_[bits] = words_;
      }
      by_name_[size_] = static_cast<std::uint8_t>(size_);
      all_[size_++] = each;
    }
    const auto name = [this](std::uint8_t i) { return all_[i].name; };
    std::ranges::sort(std::span(by_name_).first(size_), {}, name);
    // Each list is made by the compiler, which refuses a throw.
    if (std::ranges::adjacent_find(by_name(), {}, name) != by_name().end()) throw "two accumulators have one name";
  }

  constexpr std::span<const Accumulator> all() const { return std::span(all_).first(size_); }
  constexpr std::span<const Accumulator> sums() const { return std::span(all_).subspan(first_sum_, sums_); }
  constexpr std::span<const Accumulator> behind_sums() const { return all().subspan(first_sum_ + sums_); }
  // Numbers of accumulators, by ascending name.
  constexpr std::span<const std::uint8_t> by_name() const { return std::span(by_name_).first(size_); }

  constexpr std::size_t words() const { return words_; }
  constexpr std::size_t words(Needs needs) const {
    return words_of_[static_cast<std::size_t>(std::bit_width(needs & Needs{NEED_ALL}))];
  }

  // Successive words that merge alike, to `end`. A loop for each run: a look-up for each word cost a tenth of the time
  // of a 4 KiB tensor.
  struct Run {
    MergeRule rule;
    std::uint32_t end;
  };
  constexpr std::span<const Run> runs() const { return std::span(all_runs_).first(runs_); }

 private:
  std::array<Accumulator, kMost> all_{};
  std::array<Run, kMost> all_runs_{};
  std::array<std::uint8_t, kMost> by_name_{};
  std::array<std::uint32_t, NEED_BITS + 1> words_of_{};  // by the highest need
  std::size_t size_ = 0, runs_ = 0, first_sum_ = 0, sums_ = 0;
  std::uint32_t words_ = 0;
};

// On bare words: the first words of a list, as many as the partial's needs ask for.
void clear(const PartialLayout& layout, std::span<std::int64_t> words);
// Words that merge by maximum. kBiased: as a GPU's work-groups leave them, biased by 2^63, so that 0 is empty.
enum class Maxima { kPlain, kBiased };
// Adds `from` to `into`. Element 0 of `from` is element `first` of the tensor that `into` describes; `first_byte` is
// its byte there. `maxima` says how `from` stores its maxima.
void merge(const PartialLayout& layout, std::span<std::int64_t> into, std::span<const std::int64_t> from,
           std::uint64_t first = 0, std::uint64_t first_byte = 0, Maxima maxima = Maxima::kPlain);
// Propagates carries: all words of each sum but the last lie in [0, 2^32) afterwards. Call it at least every 2^30
// additions to a word.
void carry(const PartialLayout& layout, std::span<std::int64_t> words);
// Moves the words of precision/fingerprints.h of a part to the byte at which it begins in the whole.
void move_checksums(std::int64_t* words, std::uint64_t first_byte);

// The limit of half the sum of two words. Then the sum fits a word, and carries still fit.
inline constexpr std::int64_t kMostOfHalf = (std::int64_t{1} << 62) - (std::int64_t{1} << 32);
// Whether the words can be added, the last word of a sum up to a limit of its own. Always true for partials of tensors;
// words that were read may fail.
bool fit_together(const PartialLayout& layout, std::span<const std::int64_t> a, std::span<const std::int64_t> b,
                  std::int64_t most_of_half_of_last = kMostOfHalf);

}  // namespace tensorstat
