// From the readings of a launch to its rows. Called by the collector's thread alone.
#pragma once

#include "stats/job/attach/collector.hpp"

namespace tensorstat::attach {

// Collects the readings, decides which arguments were inputs and outputs, and writes the rows: doc/attach.md has the
// rules.
void write_rows(Launch& launch);

// Tries once more to write the rows that the disk refused.
void close_recorders();

}  // namespace tensorstat::attach
