// Writes the rows of the last steps to a file mapping: the file is complete at any moment in which the process may die.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tensorstat/status.hpp>

#include "stats/alerts/ring_layout.hpp"

namespace tensorstat {

struct StepRingOptions {
  std::string folder;
  std::uint32_t rank = 0;
  std::uint32_t slot_count = 3;  // steps, with the one that runs and the one that makes way for it
  std::uint64_t most_bytes = 0;  // of the file
  std::string about;             // read_ring() returns it
};

// Used by one thread at a time. The disk's blocks are reserved before they are mapped, so a full disk is an error and
// no SIGBUS. The slots grow with the longest step; the old file is replaced only when the new one is whole.
class StepRing {
 public:
  // The file is last_steps.ring; if another process is writing that, last_steps_2.ring and so on. What a dead process
  // left is renamed to last_steps.old.ring.
  static Result<std::unique_ptr<StepRing>> open(StepRingOptions options);
  ~StepRing();
  StepRing(const StepRing&) = delete;
  StepRing& operator=(const StepRing&) = delete;

  // Takes the slot of the oldest step. A second call with the step that runs changes nothing but that it goes on.
  void begin_step(std::uint64_t step);
  // Appends a row to the step that was begun. If there is no room for it, it is counted, and the error says why.
  Status append(std::string_view row);
  void end_step();
  // Says that the process ended the session, and did not die.
  void close();

  const std::string& path() const { return path_; }
  std::uint64_t bytes() const { return size_; }
  // The whole file as it is now.
  std::span<const std::byte> content() const { return {base_, size_}; }

 private:
  explicit StepRing(StepRingOptions options) : options_(std::move(options)) {}

  RingHeader& header() { return *reinterpret_cast<RingHeader*>(base_); }
  SlotHeader& slot() {
    return *reinterpret_cast<SlotHeader*>(base_ + header().slots_at + number_ % options_.slot_count * slot_bytes_);
  }
  Status replace(std::uint64_t slot_bytes, const std::string& path, bool is_new);

  const StepRingOptions options_;
  std::string path_;
  int file_ = -1;
  std::byte* base_ = nullptr;
  std::uint64_t size_ = 0, slot_bytes_ = 0;
  std::uint64_t number_ = 0;  // of the step that runs; 0: none was begun
};

}  // namespace tensorstat
