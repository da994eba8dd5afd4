// A text file that several threads and several processes append whole lines to.
//
// The promise: a line that append() called written survives `kill -9` of its process; the file
// holds at most one unterminated line, at its end, and the next append removes it; no line is ever
// a mix of two. Against power loss, see Sync. The promise holds among processes that append
// through this class, on file systems where flock() works.
//
// No fault ends the job or throws. A full disk, an exhausted descriptor table, a read-only or
// failing file system, RLIMIT_FSIZE, a lock whose holder was stopped, no memory: the line waits in
// bounded memory or is dropped and counted, the fault is said once, and the next append tries again.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tensorstat/dump.hpp>

#include "stats/rows/notices.hpp"

namespace tensorstat {

// What became of lines, over all the files that share it. Right at any time, and read without a lock.
struct LineTally {
  std::atomic<std::uint64_t> written{0}, waiting{0}, dropped{0}, faults{0}, repairs{0};
  std::atomic<std::size_t> waiting_bytes{0};
};

struct AppendOptions {
  std::string path;         // missing folders are made
  // The first line of a file that is empty; ends in LF. A file that begins otherwise is continued all
  // the same, and that is said once.
  std::string header = {};
  Sync sync = Sync::kClose;
  // How long one append may wait for the lock of another process. Once it has waited in vain the
  // next ones do not wait at all until the lock has been had again.
  std::chrono::milliseconds lock_deadline{500};
  // Lines that wait, of all the files that share the tally; more are dropped, and counted.
  std::size_t queue_bytes = std::size_t{4} << 20;
  std::shared_ptr<LineTally> tally = {};  // empty: one of its own
  bool read_only_when_closed = false;  // mode 0400 in the end, as MindSpore leaves files
};

struct AppendCounters {
  std::uint64_t written_count = 0;  // lines the file has
  std::uint64_t waiting_count = 0;  // lines in memory, to be tried again
  // Lines lost: the queue was full, the last try failed, or the disk refused to keep what was written (fsync).
  std::uint64_t dropped_count = 0;
  std::uint64_t fault_count = 0;    // calls to the system that failed
  std::uint64_t repair_count = 0;   // unterminated tails removed
};

class AppendFile {
 public:
  // kWritten: the file has the lines; with Sync::kRow, the disk has them.
  enum class Outcome : std::uint8_t { kWritten, kWaiting, kDropped };

  // Opens nothing yet: the file appears with its first line.
  AppendFile(AppendOptions options, std::shared_ptr<Notices> notices);
  ~AppendFile();  // close()
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  // One or more whole lines, which wait, are counted and are dropped together. From any thread;
  // threads that come together share one write. In a forked child the file is opened anew, and
  // lines that waited in the parent stay the parent's.
  Outcome append(std::string_view lines) noexcept;

  // Tries the lines that wait once more. Whether none waits any longer.
  bool flush() noexcept;

  // The same, then sync and close: for a while the file needs no descriptor. Lines that still wait
  // stay, and a later append, flush, release or close opens the file again. Whether none waits.
  bool release() noexcept;

  // release(), as the last try: what cannot be written is dropped, counted and said.
  void close() noexcept;

  // Of all the files that share the tally.
  AppendCounters counters() const noexcept;

 private:
  class Writer;
  Writer* writer() const noexcept;  // nullptr: a forked child has no memory for one

  AppendOptions options_;
  std::shared_ptr<Notices> notices_;
  mutable std::atomic<Writer*> writer_;  // of this process; a fork leaves the parent's behind
};

}  // namespace tensorstat
