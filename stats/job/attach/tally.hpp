// Counters of a process under the layer, in memory and in the file DUMP/.attach/PID. The collector's thread writes the
// file when they have changed. The file survives any end of the process, and shows that the layer was loaded. It is not
// mapped, so a truncated file cannot end the program by a signal.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <tensorstat/status.hpp>

namespace tensorstat::attach {

struct Tally {
  std::atomic<std::uint64_t> launches{0};          // of kernels
  std::atomic<std::uint64_t> measured{0};          // arguments: rows written
  std::atomic<std::uint64_t> not_understood{0};    // arguments with an unknown element type
  std::atomic<std::uint64_t> left_out{0};          // arguments that could not be read without a wait, or were lost
  std::atomic<std::uint64_t> images{0};            // arguments that are images, which are not measured
  std::atomic<std::uint64_t> unknown_memory{0};    // arguments in memory that an extension made, which is not measured
  std::atomic<std::uint64_t> scratch{0};           // arguments with nothing but unwritten memory
  std::atomic<std::uint64_t> lost_rows{0};         // rows that could not be written
  std::atomic<std::uint64_t> poisoned{0};          // arguments made of memory that nobody wrote (--poison)
  std::atomic<std::uint64_t> unknown_commands{0};  // command buffers that are not followed; 1: all of a driver

  // Keeps `why` if it is the first.
  void left_out_because(std::string_view why);
  std::string reason() const;

 private:
  mutable std::mutex mutex_;  // of what follows
  std::string reason_;
};

// The counters of this process; creates the folders and, if possible, the file. After an exec the counters continue
// from the file.
Tally& open_tally(const std::string& out);

// Writes the file if a counter has changed since. Called by one thread at a time.
void write_tally();

// The sum over the files of all processes below DUMP. kUnreadable: not one file.
struct Total {
  std::uint64_t processes = 0, launches = 0, measured = 0, not_understood = 0, left_out = 0, images = 0,
                unknown_memory = 0, scratch = 0, lost_rows = 0, poisoned = 0, unknown_commands = 0;
  std::string reason;  // of the first process that has one
};
Result<Total> read_tallies(const std::string& out);

}  // namespace tensorstat::attach
