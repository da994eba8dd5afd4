// What becomes of the files that a replay finds where it writes.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <tensorstat/status.hpp>
#include <utility>

#include "stats/dump/config/dump_config.hpp"

namespace tensorstat {

enum class Existing : std::uint8_t {
  kRefuse,   // an error names one of them, and nothing is written
  kAppend,   // rows are added to a statistic.csv, and files of tensors beside those that are there
  kReplace,  // once all is written elsewhere, each file takes the place of that of the same name; others stay
};

class ReplayOutput {
 public:
  // `config` outlives it; its path is where the replay writes, in its form. `process` tells replays apart that run at
  // one time.
  ReplayOutput(const DumpConfig& config, Existing existing, std::uint64_t process);
  // Removes what was not brought to its place. What a killed process left, the next kReplace below the same path does.
  ~ReplayOutput();
  ReplayOutput(const ReplayOutput&) = delete;
  ReplayOutput& operator=(const ReplayOutput&) = delete;

  // Where the session writes.
  const std::string& path() const { return path_; }

  // Whether the replay may write into `folder`, which is one of the config's path, what it reads in
  // `source_folder`. An error: files are there that Existing has no word for, or it would write over those it reads.
  Status check(const std::string& folder, const std::string& source_folder);

  // After the session is closed: brings what it wrote to its place.
  Status finish();

 private:
  void take_folder();
  Status move_folder(const std::string& from, const std::string& to);

  const DumpConfig& config_;
  const Existing existing_;
  std::string path_;
  int lock_ = -1;  // on path_, of who writes there
  std::set<std::pair<std::string, std::string>> checked_;
};

}  // namespace tensorstat
