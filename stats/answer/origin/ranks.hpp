// R10: a fault that one rank made and others received is one fault.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "stats/answer/origin/fault.hpp"

namespace tensorstat::origin_rules {

// The iteration between two runs of the record, of all ranks. `has_written` is set by the caller.
Around around_of(const Record& record, const FaultChoice& choice, std::uint32_t first, std::uint32_t last);

// The verdict of one rank, or of one part of it, and where the fault stands among the calls of that rank.
struct OfRank {
  FaultVerdict verdict;
  std::size_t nth_event = 0;       // of what the rank did, where the fault is seen first
  std::uint32_t name = 0;          // of the call there
  std::set<std::uint32_t> called;  // the names of all its calls
};
OfRank of_rank(const Record& record, const Walked& walked, FaultVerdict verdict);

// Picks the verdict with the earliest phase; among those a sure one, and among those the least rank. Where all ranks
// run the calls in which the faults are seen, the order of the calls decides before certainty does, because ranks of
// one program run their calls in the same order. The other ranks received the fault.
FaultVerdict pick_of_ranks(std::vector<OfRank>& ranks);

}  // namespace tensorstat::origin_rules
