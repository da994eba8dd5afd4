// Follows a dump that somebody is writing: each look reads the rows that are new.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <tensorstat/rows.hpp>
#include <unordered_map>
#include <vector>

#include "stats/data/survey/changing_files.hpp"
#include "stats/data/survey/growing_row_file.hpp"

namespace tensorstat {

class GrowingDump {
 public:
  // `path`: a file of rows, a folder, or a store. It may be made later.
  explicit GrowingDump(std::string path);

  // Hands out new rows when it is called.
  using ReadNew = std::function<Result<RowsRead>(const EachRow&)>;
  // Called once a file that has new rows, with the file's path.
  using EachFile = std::function<Result<RowsRead>(const std::string& path, const ReadNew& read)>;

  struct Look {
    std::uint64_t rows = 0;
    bool begins_again = false;        // a file was replaced: forget all rows, and look again
    std::vector<std::string> faults;  // what could not be read; each is said once
  };
  // A last line without its end is left for the next look.
  Look look(const EachFile& each);

  bool is_waiting() const { return files_.is_waiting(); }  // the path does not exist yet
  // How long to wait before the next look, so that looking takes some hundredth of the time, and news come within two
  // seconds.
  std::chrono::milliseconds pause() const { return pause_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Fault {
    std::string text;
    Clock::time_point since;
    bool is_said = false;
  };
  bool is_replaced(const RowFile& file, std::uint64_t row_count);
  void read(const RowFile& file, const EachFile& each, Look& look);
  std::vector<std::pair<RowFile, std::uint64_t>> changed_files(Look& look);

  const std::string path_;
  ChangingFiles files_;
  std::unordered_map<std::string, FileGrowth> growth_;  // by path
  std::unordered_map<std::string, Fault> faults_;       // files that are to be read again
  std::set<std::string> said_;
  std::chrono::milliseconds pause_{250};
};

}  // namespace tensorstat
