// What a process did under the layer, in a file that survives its end in any way: DUMP/.attach/PID. It is the sign that
// the layer was loaded, too.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <tensorstat/status.hpp>

namespace tensorstat::attach {

// As it lies in the file. Members may be added at the end.
struct Tally {
  static constexpr std::uint64_t kMagic = 0x31'79'6c'6c'61'74'73'74;  // "tstally1"
  std::uint64_t magic = kMagic;
  std::atomic<std::uint64_t> launches{0};        // of kernels
  std::atomic<std::uint64_t> measured{0};        // arguments: rows written
  std::atomic<std::uint64_t> not_understood{0};  // arguments whose element type is not known
  std::atomic<std::uint64_t> left_out{0};        // arguments that could not be read without a wait, or were lost
  std::atomic<std::uint64_t> images{0};          // arguments that are images, which are not measured
  std::atomic<std::uint64_t> unknown_memory{0};  // arguments in memory that an extension made, which is not measured
  std::atomic<std::uint64_t> scratch{0};         // arguments that held only what nobody wrote
  std::atomic<std::uint64_t> lost_rows{0};       // that could not be written
  std::atomic<std::uint64_t> poisoned{0};        // arguments made of memory that nobody wrote (--poison)
  std::atomic<bool> has_reason{false};
  char reason[256] = {};  // the first error that left arguments out; ends with a NUL

  // Keeps `why` if it is the first.
  void left_out_because(std::string_view why) {
    if (!has_reason.exchange(true)) why.copy(reason, sizeof reason - 1);
  }
};

// Maps the file of this process. On failure, a Tally in memory: counting goes on.
Tally& open_tally(const std::string& out);

// Adds up the files of all processes below DUMP. kUnreadable: there is none.
struct Total {
  std::uint64_t processes = 0, launches = 0, measured = 0, not_understood = 0, left_out = 0, images = 0,
                unknown_memory = 0, scratch = 0, lost_rows = 0, poisoned = 0;
  std::string reason;  // of the first process that has one
};
Result<Total> read_tallies(const std::string& out);

}  // namespace tensorstat::attach
