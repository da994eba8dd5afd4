// The system calls for a file of lines: open, lock, repair, write, sync. AppendFile decides when.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "stats/data/files/io/own_file.hpp"
#include "stats/data/rows/append_file.hpp"
#include "stats/data/rows/notices.hpp"

namespace tensorstat {

// Not thread-safe. Nothing here throws. Each fault is counted and reported once.
class LineFile {
 public:
  // All three must outlive it.
  LineFile(const AppendOptions& options, Notices& notices, LineTally& tally)
      : options_(options), notices_(notices), tally_(tally), path_(options.path) {}
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  // How many entries of a batch were appended. `refused`: they are in the file but could not be synced or removed.
  struct Appended {
    std::size_t entries = 0;
    bool refused = false;
  };

  // Opens the file if necessary, locks it, removes an unterminated tail, and appends a whole number of the entries of
  // `batch`, which end at `ends`. If the file has another heading, or rows of another dialect, the lines go to the next
  // file (numbered_path).
  Appended append(std::string_view batch, const std::vector<std::size_t>& ends) noexcept;

  // Syncs and closes the file. If it is finished and the options ask for it, makes it read-only. false: the data
  // written since opening could not be synced. Linux reports that once and then treats the pages as clean, so a second
  // fsync would succeed without having written them.
  bool close(bool is_finished) noexcept;

 private:
  bool open();
  int open_as_it_is();
  bool open_again();
  bool has_folder() noexcept;
  bool was_removed() const;
  Appended append_locked(std::string_view batch, const std::vector<std::size_t>& ends);
  bool repair(off_t& size);
  std::optional<bool> is_of_others(std::string_view batch);
  bool go_to_next_file() noexcept;
  bool cut_to(off_t size);
  bool sync_row() noexcept;
  bool sync_name() noexcept;
  std::size_t write_whole(std::string_view text);
  void fault(std::string_view doing, int error) noexcept;

  const AppendOptions& options_;
  Notices& notices_;
  LineTally& tally_;
  std::string path_;  // options_.path, or a successor
  int number_ = 1;
  OwnFile own_;
  int file_ = -1;  // its descriptor, from the last look at it on
  bool stalled_ = false, rows_seen_ = false, name_synced_ = false;
};

}  // namespace tensorstat
