// Msprobe's verdict over the rows of one call of an operator.
#pragma once

#include <span>

#include "stats/compare/msprobe/comparison.hpp"

namespace tensorstat::msprobe {

// `rows` are of one call, named `call`. Sets level and messages.
//
// A tensor whose name has ".output." in it is an output; all else is an input. Where the name of the first input says
// that the operator fills nothing in (empty, to, ...), no rule is asked that looks at rows one by one, and where it
// receives from other ranks (all_gather, ...), these rules look at outputs alone; the rules that hold inputs against
// outputs are asked of neither.
void judge_call(std::span<ComparedRow> rows, Mode mode);

}  // namespace tensorstat::msprobe
