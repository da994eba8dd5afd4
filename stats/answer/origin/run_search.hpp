// The verdict on a run whose rows need not fit in memory.
#pragma once

#include <cstdint>
#include <string>

#include "stats/answer/compare/recorded.hpp"
#include "stats/answer/origin/verdict.hpp"

namespace tensorstat {

struct SearchedRun {
  Answer answer;
  // The rows that the numbers in the answer refer to: all of a short run. Of a long one those of some iterations, and
  // none if nothing is wrong.
  Record record;
  std::uint64_t row_count = 0;  // of the run
  Hints hints;                  // one of them may be the verdict's zoom
  bool is_whole = true;         // else some of it could not be read, which the listener has been told
};

// Reads the rows at `path` once, and passes each to `each`. Of a long run, the iterations with NaN or Inf are read
// again, a few at a time, until there is a verdict. With lists, all of these are in memory together.
Result<SearchedRun> search_run(const std::string& path, const MeterOptions& meter, const ReadListener& listener,
                               const FaultChoice& choice, const RunRows::Each& each = {});

}  // namespace tensorstat
