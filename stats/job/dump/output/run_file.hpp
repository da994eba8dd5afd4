// Writes all tensors of an operator's run to one file, in CANN's format: files/dump_data.hpp.
#pragma once

#include <string>

#include "stats/job/dump/output/dump_files.hpp"
#include "stats/job/dump/session/dump_meter.hpp"
#include "stats/job/dump/session/dump_tally.hpp"
#include "stats/job/dump/session/pending_run.hpp"

namespace tensorstat {

// Writes {op_type}.{op_name}.{task_id}.{stream_id}.{time} into `folder`. The time is the first tensor's, or the next
// free microsecond. Counts the tensors as done or lost. They are lost if type or name is empty, because no reader takes
// such a file. If a slot repeats, its tensor goes into a file of its own.
void save_run(const PendingRun& run, const std::string& folder, DumpFiles& files, DumpMeter& dump_meter,
              DumpTally& tally, Notices& notices) noexcept;

// Why a run has no file.
Error no_file_name(const Identity& identity);

}  // namespace tensorstat
