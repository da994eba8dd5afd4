// The effect of each call with NaN or Inf, from the same walk that gives the verdict.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "stats/answer/origin/fault.hpp"
#include "stats/answer/origin/origin.hpp"
#include "stats/answer/origin/telling.hpp"

namespace tensorstat::origin_rules {

// Adds the faults of one iteration of one rank. The verdict, where this rank has it, comes first in its list.
// `is_told`: the verdict is of an earlier iteration or of another rank; then only what surely began anew is a
// beginning.
void add_to_lists(const Record& record, const FaultChoice& choice, const Walked& walked, Telling& telling, bool is_told,
                  Origin& lists);

// Adds a fault that ended, as the verdict.
void add_to_lists(const Record& record, const FaultChoice& choice, const Walked& walked, const Fault& fault,
                  Telling& telling, Origin& lists);

}  // namespace tensorstat::origin_rules
