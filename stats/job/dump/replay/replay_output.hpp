// Decides what happens to existing files in a replay's output folders.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <tensorstat/status.hpp>
#include <utility>

#include "stats/job/dump/config/dump_config.hpp"

namespace tensorstat {

enum class Existing : std::uint8_t {
  kRefuse,   // nothing is written; an error names one of the files
  kAppend,   // rows are added to a statistic.csv, and tensor files beside the existing ones
  kReplace,  // after all is written elsewhere, each file replaces the one of the same name; others stay
};

class ReplayOutput {
 public:
  // `config` must outlive this object; its path and form are the replay's. `process` distinguishes replays that run at
  // the same time.
  ReplayOutput(const DumpConfig& config, Existing existing, std::uint64_t process);
  // Removes the files that were not moved. If the process is killed, the next kReplace below the same path removes
  // them.
  ~ReplayOutput();
  ReplayOutput(const ReplayOutput&) = delete;
  ReplayOutput& operator=(const ReplayOutput&) = delete;

  // The path that the session writes to.
  const std::string& path() const { return path_; }

  // Whether the replay may write rows from `source_folder` into `folder`. An error: `existing` does not allow the files
  // in `folder`, or the replay would overwrite its own input.
  Status check(const std::string& folder, const std::string& source_folder);

  // Moves the files to their folders. Call it after the session is closed.
  Status finish();

 private:
  void take_folder();
  Status move_folder(const std::string& from, const std::string& to);

  const DumpConfig& config_;
  const Existing existing_;
  std::string path_;
  int lock_ = -1;  // the lock on path_
  std::set<std::pair<std::string, std::string>> checked_;
};

}  // namespace tensorstat
