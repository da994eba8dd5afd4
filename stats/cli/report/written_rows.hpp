// Rows of statistics that were written before, shown as tensors are that are measured now.
#pragma once

#include "stats/cli/inputs.hpp"
#include "stats/cli/report/outcome.hpp"
#include "stats/cli/report/results.hpp"

namespace tensorstat::cli {

// The files are of rows. With --stats these statistics, else all that the files have; --fail-on, --where and --sort
// judge by what they have.
Outcome show_rows(const Arguments& arguments, const Inputs& inputs, const Look& look, Console& console,
                  const Results::Write& write);

}  // namespace tensorstat::cli
