// Goes through the calls of one iteration of one rank in the order of time, and asks the rules of rules.hpp for each
// row that holds a fault and that no open fault explains.
#pragma once

#include "stats/answer/compare/record.hpp"
#include "stats/answer/origin/fault.hpp"
#include "stats/answer/origin/hints.hpp"
#include "stats/answer/origin/model.hpp"
#include "stats/answer/origin/verdict.hpp"

namespace tensorstat::origin_rules {

Walked walk(const Record& record, const Hints& hints, const FaultChoice& choice, const Around& around, Model model);

}  // namespace tensorstat::origin_rules
