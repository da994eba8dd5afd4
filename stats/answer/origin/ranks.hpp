// R10: a fault that one rank made and others received is one fault.
#pragma once

#include <cstdint>
#include <vector>

#include "stats/answer/origin/fault.hpp"

namespace tensorstat::origin_rules {

// The iteration between two runs of the record, of all ranks. `has_written` is set by the caller.
Around around_of(const Record& record, const FaultChoice& choice, std::uint32_t first, std::uint32_t last);

// The verdict of several ranks: the earliest phase first, then what is sure, then the least rank. The other ranks
// received the fault.
FaultVerdict pick_of_ranks(std::vector<FaultVerdict>& verdicts);

}  // namespace tensorstat::origin_rules
