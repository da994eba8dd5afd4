// What reading, measuring and reporting came to.
#pragma once

#include <functional>
#include <string>

#include "stats/cli/arguments.hpp"

namespace tensorstat::cli {

// Takes the results as they come.
using Write = std::function<void(const std::string&)>;

struct Outcome {
  int exit = kDone;
  bool has_results = false;
};

}  // namespace tensorstat::cli
