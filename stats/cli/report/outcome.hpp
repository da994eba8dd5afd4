// What reading and reporting came to.
#pragma once

#include "stats/cli/exit_status.hpp"

namespace tensorstat::cli {

struct Outcome {
  int exit = kDone;
  bool has_results = false;
};

}  // namespace tensorstat::cli
