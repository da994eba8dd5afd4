// NaN and Inf in memory that nobody wrote, told from those that a launch made.
//
// Before a launch a kernel of the layer notes which elements of such a buffer are NaN or Inf; after it another one
// counts the new ones. With --poison the memory is filled with a special NaN instead, a different one for each buffer.
// An element with the bits of its own buffer was not written. One with the bits of another buffer comes from there: the
// launch read unwritten memory.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "stats/job/attach/program/objects.hpp"

namespace tensorstat::attach {

// The results for one buffer, valid once the event has completed.
struct BufferFaults {
  std::uint32_t new_nan = 0, new_inf = 0;  // that were not there before
  std::uint32_t poisoned = 0;              // of the NaN, those that come from memory that nobody wrote
  std::uint32_t had_any = 0;               // before the launch
};

// The look at one buffer around one launch. What it holds must live until the event has completed.
class UnwrittenLook {
 public:
  virtual ~UnwrittenLook() = default;
  // Enqueues the second half, behind `launched` if that is not null.
  virtual bool look_after(cl_command_queue queue, cl_event launched) = 0;
  virtual cl_event event() const = 0;         // of the last command; null: nothing is under way
  virtual cl_event before_event() const = 0;  // of the first half; null: not enqueued
  virtual const BufferFaults& found() const = 0;
};

// Enqueues the first half behind `wait_list`: notes, or with poison fills `undefined`, which are bytes of the buffer.
// Null: the dtype has no NaN, or a call failed.
struct UnwrittenBytes {
  std::uint64_t begin, end;
};
std::unique_ptr<UnwrittenLook> look_at_unwritten(const Queue& facts, cl_command_queue queue, const Extent& extent,
                                                 const std::vector<UnwrittenBytes>& undefined,
                                                 std::uint32_t buffer_number, const std::vector<cl_event>& wait_list);

}  // namespace tensorstat::attach
