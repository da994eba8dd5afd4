// What `tensorstat report` says of a run.
#pragma once

#include <string>

#include "stats/findings/findings.hpp"

namespace tensorstat {

// The page of a run that was judged. `source` is what was read. An error: there are more cells than a page can hold.
Result<std::string> page_of(const JudgedRun& run, const std::string& source);

}  // namespace tensorstat
