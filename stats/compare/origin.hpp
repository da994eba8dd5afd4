// What every call with NaN or Inf did with it, by its own rows alone. Where it began, origin/verdict.hpp tells.
#pragma once

#include <cstdint>
#include <vector>

#include "stats/compare/judge.hpp"
#include "stats/compare/record.hpp"

namespace tensorstat {

struct Source {
  std::uint32_t run = 0;  // of the record
  std::uint32_t row = 0;  // the first of its tensors that holds it: an output; an input where it came from outside
  Specials specials;      // of that row
};

// In the order of execution of `record`, which is sorted. Role says what each is.
struct Origin {
  std::vector<Source> producers;    // an output holds NaN or Inf, and no input does
  std::vector<Source> entered;      // the first input of a rank that holds it, where no output before does
  std::vector<Source> propagators;  // an input holds it, and an output
  // Those of them that no NaN came to from any rank, and whose outputs hold NaN: Inf - Inf, 0 * Inf, Inf / Inf.
  std::vector<Source> turned;
};

// `nan_only`: Inf is no fault, as where masks are made of it.
Origin origin_of(const Record& record, bool nan_only);

// The last 20 runs of operators of the same rank before this one, the nearest last.
std::vector<std::uint32_t> runs_before(const Record& record, std::uint32_t run);

}  // namespace tensorstat
