// The result of reading and reporting.
#pragma once

#include "stats/show/cli/exit_status.hpp"

namespace tensorstat::cli {

struct Outcome {
  int exit = kDone;
  bool has_results = false;
};

}  // namespace tensorstat::cli
