// From the readings of a launch to its rows. Called by the collector's thread alone.
#pragma once

#include "stats/job/attach/collector.hpp"

namespace tensorstat::attach {

// Collects the readings, decides what was given and what was written, and writes the rows. doc/attach.md has the rules.
void write_rows(Launch& launch);

// What waits for the disk is tried once more.
void close_recorders();

}  // namespace tensorstat::attach
