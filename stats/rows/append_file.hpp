// A text file that several threads and several processes append whole lines to.
//
// The promise: a line that append() called written survives `kill -9` of its process; the file
// holds at most one unterminated line, at its end, and the next append removes it; no line is ever
// a mix of two. Against power loss, see Sync. The promise holds among processes that append
// through this class, on file systems where flock() works.
//
// No fault ends the job or throws. A full disk, an exhausted descriptor table, a read-only or
// failing file system, RLIMIT_FSIZE, a lock whose holder was stopped: the line waits in bounded
// memory, the fault is counted and said once, and the next append tries again.
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

struct AppendOptions {
  std::string path;         // missing folders are made
  // The first line of a file that is empty; ends in LF. A file that begins otherwise is continued all
  // the same, and that is said once.
  std::string header = {};
  Sync sync = Sync::kClose;
  // How long one append may wait for the lock of another process. Once it has waited in vain the
  // next ones do not wait at all until the lock has been had again.
  std::chrono::milliseconds lock_deadline{500};
  std::size_t queue_bytes = std::size_t{4} << 20;  // lines that wait; more are dropped, and counted
  bool read_only_when_closed = false;  // mode 0400 in the end, as MindSpore leaves files
};

struct AppendCounters {
  std::uint64_t written_count = 0;  // lines the file has
  std::uint64_t waiting_count = 0;  // lines in memory, to be tried again
  std::uint64_t dropped_count = 0;  // lines lost, because the queue was full or the last try failed
  std::uint64_t fault_count = 0;    // calls to the system that failed
  std::uint64_t repair_count = 0;   // unterminated tails removed
};

class AppendFile {
 public:
  enum class Outcome : std::uint8_t { kWritten, kWaiting, kDropped };

  // Opens nothing yet: the file appears with its first line.
  AppendFile(AppendOptions options, std::shared_ptr<Notices> notices);
  ~AppendFile();  // close()
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  // One or more whole lines, which wait, are counted and are dropped together. From any thread;
  // threads that come together share one write. In a forked child the file is opened anew, and
  // lines that waited in the parent stay the parent's.
  Outcome append(std::string_view lines);

  // Tries the lines that wait once more. Whether none waits any longer.
  bool flush();

  // A last try for the lines that wait, then sync and close. What cannot be written is dropped,
  // counted and said. A later append opens the file again.
  void close();

  AppendCounters counters() const;

 private:
  class Writer;
  Writer& writer() const;

  AppendOptions options_;
  std::shared_ptr<Notices> notices_;
  mutable std::atomic<Writer*> writer_;  // of this process; a fork leaves the parent's behind
};

}  // namespace tensorstat
