// A run of an operator in one file with all of its tensors, as CANN's dump leaves it: files/dump_data.hpp.
#pragma once

#include <string>

#include "stats/dump/output/dump_files.hpp"
#include "stats/dump/session/dump_tally.hpp"
#include "stats/dump/session/dump_meter.hpp"
#include "stats/dump/session/pending_run.hpp"

namespace tensorstat {

// Writes {op_type}.{op_name}.{task_id}.{stream_id}.{time} into `folder`, of the first tensor's time or the next free
// one, and counts the tensors as done or lost: lost, where type or name is empty, as nothing reads such a file. A
// tensor of a slot that the run has already goes into a file of its own.
void save_run(const PendingRun& run, const std::string& folder, DumpFiles& files, Examiner& examiner, DumpTally& tally,
              Notices& notices) noexcept;

// Why a run has no file.
Error no_file_name(const Identity& identity);

}  // namespace tensorstat
