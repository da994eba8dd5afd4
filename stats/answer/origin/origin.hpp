// The effect of every call with NaN or Inf. The verdict of origin/verdict.hpp and these lists come from one walk.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stats/answer/compare/judge.hpp"
#include "stats/answer/compare/record.hpp"

namespace tensorstat {

// A call as a verdict names it.
struct NamedCall {
  std::string op_type, op_name;
  bool is_named() const { return !op_name.empty(); }
};

struct Source {
  std::uint32_t run = 0;  // of the record
  std::uint32_t row = 0;  // the first of its tensors that holds it: an output; an input where it came from outside
  Specials specials;      // of that row
  NamedCall guilty;       // the call that is to blame; mostly the call of that row
  std::vector<std::uint32_t> inputs;  // the rows of that call's inputs
};

// Each in the order of execution, but for the verdict: it is the first of its list. Faults that ended and steps that
// were skipped are in no list: the notes of the answer say them.
struct Origin {
  std::vector<Source> producers;    // a call, the loss, something before the step, or the optimizer made it
  std::vector<Source> entered;      // it was in the data, or in a parameter
  std::vector<Source> unknown;      // where it is seen first, and the rows cannot tell who made it
  std::vector<Source> propagators;  // calls that were given it and passed it on
  std::vector<Source> turned;       // the propagators that made NaN of an Inf: Inf - Inf, 0 * Inf, Inf / Inf
};

// The last 20 runs of operators of the same rank before this one, the nearest last.
std::vector<std::uint32_t> runs_before(const Record& record, std::uint32_t run);

}  // namespace tensorstat
