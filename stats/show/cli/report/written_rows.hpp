// Shows rows of statistics from earlier results in the same way as measured tensors.
#pragma once

#include "stats/show/cli/inputs.hpp"
#include "stats/show/cli/report/outcome.hpp"
#include "stats/show/cli/report/results.hpp"

namespace tensorstat::cli {

// All files are files of rows. Shows the statistics of --stats, or else all that the files have. --fail-on, --where and
// --sort use the values in the files.
Outcome show_rows(const Arguments& arguments, const Inputs& inputs, const Look& look, Console& console,
                  const Results::Write& write);

}  // namespace tensorstat::cli
