// A file of lines at the level of the system: opened, locked, repaired, written and synced. AppendFile decides when.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "stats/rows/notices.hpp"
#include "stats/rows/append_file.hpp"

namespace tensorstat {

// One thread at a time. Nothing here throws; each fault is counted and said once.
class LineFile {
 public:
  // All three outlive it.
  LineFile(const AppendOptions& options, Notices& notices, LineTally& tally)
      : options_(options), notices_(notices), tally_(tally) {}
  ~LineFile();
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  // How many entries of a batch are done with. `refused`: the file has them, but the disk does not, and they could
  // not be taken off again.
  struct Appended {
    std::size_t entries = 0;
    bool refused = false;
  };

  // Opens the file where it is not open, locks it, removes an unterminated tail, and appends the entries of `batch`
  // that end at `ends`: a whole number of them.
  Appended append(std::string_view batch, const std::vector<std::size_t>& ends) noexcept;

  // Syncs and closes it, and makes it read-only where it is finished and the options say so. false: the disk refused
  // what was written since it was opened. The kernel says so once and takes the pages for clean from then on, so that
  // another fsync would succeed and mean nothing.
  bool close(bool is_finished) noexcept;

 private:
  bool open();
  bool has_folder() noexcept;
  bool was_removed() const;
  Appended append_locked(std::string_view batch, const std::vector<std::size_t>& ends);
  bool repair(off_t& size);
  void compare_heading(off_t size) noexcept;
  bool cut_to(off_t size);
  bool sync_row() noexcept;
  bool sync_name() noexcept;
  std::size_t write_whole(std::string_view text);
  void fault(std::string_view doing, int error) noexcept;

  const AppendOptions& options_;
  Notices& notices_;
  LineTally& tally_;
  int file_ = -1;
  bool stalled_ = false, heading_seen_ = false, name_synced_ = false;
};

}  // namespace tensorstat
