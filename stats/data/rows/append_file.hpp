// A text file to which several threads and processes append whole lines.
//
// Promises: a line that append() reported as written survives `kill -9` of its process. The file has at most one
// unterminated line, at its end, and the next append removes it. No line is ever a mix of two. For power loss, see
// Sync. The promises hold if all processes append through this class and flock() works on the file system.
//
// No fault ends the job or throws: a full disk, no free descriptors, a read-only or failing file system, RLIMIT_FSIZE,
// a lock held by a stopped process, no memory. The line then waits in bounded memory, or is dropped and counted. The
// fault is reported once, and the next append tries again.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tensorstat/dump.hpp>

#include "stats/data/rows/notices.hpp"

namespace tensorstat {

// Counters over all files that share the tally. Correct at any time; reading takes no lock.
struct LineTally {
  std::atomic<std::uint64_t> written{0}, waiting{0}, dropped{0}, faults{0}, repairs{0};
  std::atomic<std::size_t> waiting_bytes{0};
};

struct AppendOptions {
  std::string path;  // missing folders are created
  // Written as the first line of an empty file; ends in LF. A file with another first line, or with rows of another
  // dialect, stays as it is: the lines go to its successor (numbered_path), with one warning.
  std::string header = {};
  Sync sync = Sync::kClose;
  // How long one append may wait for the lock of another process. After a wait without success, later appends do not
  // wait until the lock has been obtained again.
  std::chrono::milliseconds lock_deadline{500};
  // The limit of waiting lines of all files that share the tally. Further lines are dropped and counted.
  std::size_t queue_bytes = std::size_t{4} << 20;
  std::shared_ptr<LineTally> tally = {};  // null: the file has its own
  bool read_only_when_closed = false;     // mode 0400 after closing, as MindSpore does
};

struct AppendCounters {
  std::uint64_t written_count = 0;  // lines in the file
  std::uint64_t waiting_count = 0;  // lines in memory, which are retried
  // Lost lines: the queue was full, the last try failed, or fsync() failed after they were written.
  std::uint64_t dropped_count = 0;
  std::uint64_t fault_count = 0;   // calls to the system that failed
  std::uint64_t repair_count = 0;  // unterminated tails removed
};

class AppendFile {
 public:
  // kWritten: the file has the lines; with Sync::kRow, the disk has them.
  enum class Outcome : std::uint8_t { kWritten, kWaiting, kDropped };

  // Does not open the file: it is created with its first line.
  AppendFile(AppendOptions options, std::shared_ptr<Notices> notices);
  ~AppendFile();  // close()
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  // Appends one or more whole lines, which are kept, counted and dropped together. Thread-safe; concurrent calls share
  // one write. A forked child opens the file again; lines waiting in the parent stay with the parent.
  Outcome append(std::string_view lines) noexcept;

  // Retries the waiting lines. Returns whether none waits any more.
  bool flush() noexcept;

  // As flush(), then syncs and closes the file, so that it uses no descriptor. Lines that still wait are kept; a later
  // append, flush, release or close opens the file again. Returns whether none waits.
  bool release() noexcept;

  // A last release(): lines that cannot be written are dropped, counted and reported.
  void close() noexcept;

  // Counters of all files that share the tally.
  AppendCounters counters() const noexcept;

 private:
  class Writer;
  Writer* writer() const noexcept;  // nullptr if a forked child cannot allocate one

  AppendOptions options_;
  std::shared_ptr<Notices> notices_;
  mutable std::atomic<Writer*> writer_;  // of this process; a forked child makes its own
};

}  // namespace tensorstat
