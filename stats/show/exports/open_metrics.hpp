// The state of a run for a monitoring system.
#pragma once

#include <string>

#include "stats/answer/findings/findings.hpp"

namespace tensorstat {

// OpenMetrics text, as the textfile collector of Prometheus's node_exporter reads it: the number of findings of each
// rule, and the rows, the last iteration and the time of the last row of each rank. There is a line for a rule and for
// a rank, and none for a tensor.
std::string open_metrics_of(const JudgedRun& run);

}  // namespace tensorstat
