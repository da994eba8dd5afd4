// Writes the rows of the last steps to a file that is complete at any moment in which the process may die.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tensorstat/status.hpp>
#include <utility>

#include "stats/job/alerts/ring_file.hpp"
#include "stats/job/alerts/ring_layout.hpp"

namespace tensorstat {

struct StepRingOptions {
  std::string folder;
  std::uint32_t rank = 0;
  std::uint32_t slot_count = 3;  // steps, with the one that runs and the one that makes way for it
  std::uint64_t most_bytes = 0;  // of the file
  std::string about;             // read_ring() returns it
};

// Used by one thread at a time. What pwrite() has taken outlives `kill -9`: it is in the system's page cache. Sizes and
// places come from this object; the file, which anybody may change, is only written. The slots grow with the longest
// step; the old file is replaced only when the new one is whole.
//
// If somebody cuts, removes or overwrites the file, the call that sees it returns an error, and a new file begins with
// the step that runs.
class StepRing {
 public:
  static Result<std::unique_ptr<StepRing>> open(StepRingOptions options);

  // Takes the slot of the oldest step. A second call with the step that runs changes nothing but that it goes on.
  Status begin_step(std::uint64_t step);
  // Appends rows to the step that was begun. If there is no room for them, they are counted, and the error says why:
  // kOverBudget if the limit of the file is reached.
  Status append(std::string_view rows, std::uint64_t row_count = 1);
  Status end_step();
  // Says that the process ended the session, and did not die.
  void close();

  const std::string& path() const { return file_.path(); }
  std::uint64_t bytes() const { return file_.bytes(); }
  // The whole file as it is now.
  Result<std::string> content();

 private:
  explicit StepRing(StepRingOptions options) : options_(std::move(options)) {}

  std::uint64_t slot_at() const { return header_.slots_at + number_ % options_.slot_count * header_.slot_bytes; }
  Result<RingFile> new_file(RingHeader& header) const;
  Status write_begin(RingFile& file, const RingHeader& header) const;
  Status write_slot();
  Status grow(std::uint64_t slot_bytes);
  Status check();
  Status check_beginning();
  Status begin_anew(const Error& why);
  Status append_checked(std::string_view rows, std::uint64_t row_count);

  const StepRingOptions options_;
  RingFile file_;
  RingHeader header_{};
  SlotHeader slot_{};            // of the step that runs
  std::uint64_t number_ = 0;     // of the step that runs; 0: none was begun
  std::uint64_t row_count_ = 0;  // in that step
};

}  // namespace tensorstat
