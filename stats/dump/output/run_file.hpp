// Writes all tensors of an operator's run to one file, in CANN's format: files/dump_data.hpp.
#pragma once

#include <string>

#include "stats/dump/output/dump_files.hpp"
#include "stats/dump/session/dump_tally.hpp"
#include "stats/dump/session/dump_meter.hpp"
#include "stats/dump/session/pending_run.hpp"

namespace tensorstat {

// Writes {op_type}.{op_name}.{task_id}.{stream_id}.{time} into `folder`. The time is that of the first tensor, or the
// next free microsecond. Counts the tensors as done or lost. If a slot repeats, its tensor goes into a file of its own.
void save_run(const PendingRun& run, const std::string& folder, DumpFiles& files, Examiner& examiner, DumpTally& tally,
              Notices& notices) noexcept;

}  // namespace tensorstat
