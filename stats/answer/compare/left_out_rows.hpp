// Finds rows that one of two watches wrote and a setting of the other left out. They do not count as differences.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stats/answer/compare/judge.hpp"
#include "stats/answer/compare/row_keys.hpp"
#include "stats/answer/origin/hints.hpp"

namespace tensorstat {

// Why the other run has no such row.
enum class LeftOut : std::uint8_t {
  kEvaluation,  // an evaluation, which training steps do not contain
  kRank,        // the other run has no row of this rank
  kIteration,   // the other run began later, or did not watch this iteration. One behind its last is not left out
  kNotWatched,  // an argument of its watch, such as gradients=False
  kRepeated,    // the same as what the other run wrote of this tensor before
};
inline constexpr int kLeftOutCount = 5;
std::string_view name(LeftOut why);  // "evaluation"

using LeftOutCounts = std::array<std::uint64_t, kLeftOutCount>;  // rows, by reason
// "6 of evaluations, 2 that repeat a value"; "" of none.
std::string words_of(const LeftOutCounts& counts);

// One of two runs that are compared.
struct Side {
  const Record& record;
  std::span<const Key> keys;
  const Hints* hints;  // may be null
  bool has_wrapper;    // around the model: see Outermost
};

// Takes out of `only`, rows of `own` without a partner, those that the other watch left out, and counts them.
//
// A watch writes a parameter where it may have changed, and a gradient once if nothing changes it. So a row of these
// stands beside what the other run wrote of the tensor last. If the two differ, the row stays, and is returned with the
// other run's row.
std::vector<std::pair<std::uint32_t, std::uint32_t>> take_left_out(const Side& own, const Side& other,
                                                                   const Tolerances& tolerances,
                                                                   std::vector<std::uint32_t>& only,
                                                                   LeftOutCounts& counts);

}  // namespace tensorstat
