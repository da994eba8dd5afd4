// How the words of one partial travel: which are reduced by MAX, and which by SUM.
#pragma once

#include <cstdint>
#include <tensorstat/collective.hpp>
#include <vector>

#include "stats/core/engine/accumulator_layout.hpp"

namespace tensorstat {

// Where the words of the next partial are.
struct Collective::PackedWords {
  std::int64_t* largest;
  std::int64_t* sums;
  const std::int64_t* indices;  // of unpack() alone
};

// The properties that partials of a kind share: dtype, precision, needs and cast scale. Most lists have a few kinds.
struct Collective::Kind {
  Kind(const Partial& partial, int bits_a_word);

  bool is_of(const Partial& partial) const;
  // The hash of a list that has a partial of this kind behind what `key` is of.
  std::uint64_t added_to(std::uint64_t key) const;
  // Writes the words of a partial, and moves `to` behind them. `all_largest`: what OwnKey::word counts from.
  void pack(const Partial& partial, PackedWords& to, const std::int64_t* all_largest,
            std::vector<OwnKey>& own_keys) const;
  // The reverse, after the reductions. `into` is a copy of `empty`.
  void unpack(PackedWords& from, Partial& into) const;

  Partial empty;
  bool is_gathered;                              // it does not reduce: each rank sends all of it
  std::size_t largest_words = 0, sum_words = 0;  // of a partial; 0 if it is gathered

 private:
  enum class Travel : std::uint8_t { kMaximum, kSum, kCrc32, kXor64, kKey };  // an index follows its key
  struct Run {
    Travel travel;
    std::uint32_t first, count;  // words that travel alike
  };
  struct ExactSum {
    std::uint32_t first_packed, count;
  };
  std::size_t words_of_bits(int bits) const;
  void push_bits(std::int64_t*& words, std::uint64_t value, int bits) const;
  std::uint64_t take_bits(const std::int64_t* words, int bits) const;

  int bits_a_word_;  // of a checksum
  std::uint64_t hash_;
  std::vector<Run> runs_;
  std::vector<ExactSum> exact_sums_;
};

}  // namespace tensorstat
