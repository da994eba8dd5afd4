// msprobe's verdict on the rows of one operator call.
#pragma once

#include <span>

#include "stats/answer/msprobe/comparison.hpp"

namespace tensorstat::msprobe {

// Sets level and messages of the rows of one call.
//
// A tensor is an output if its name contains ".output."; all others are inputs. The name of the first input tells the
// operator. There are rules for single rows, and rules that compare inputs with outputs. Operators that do not fill
// their result (empty, to, ...) get no rule. For operators that receive from other ranks (all_gather, ...) only the
// outputs get the rules for single rows. All other operators get all rules.
void judge_call(std::span<ComparedRow> rows, Mode mode);

}  // namespace tensorstat::msprobe
