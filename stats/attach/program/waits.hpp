// The wait list of a command of the program, with the events of readings that it must come behind.
#pragma once

#include <algorithm>
#include <vector>

#include "stats/attach/program/objects.hpp"

namespace tensorstat::attach {

class Waits {
 public:
  Waits(cl_command_queue queue, cl_uint count, const cl_event* events) : queue_(queue), given_(events), count_(count) {}
  ~Waits() {
    for (const cl_event each : held_) below.clReleaseEvent(each);
  }
  Waits(const Waits&) = delete;
  Waits& operator=(const Waits&) = delete;

  // The command changes these bytes. With the objects' mutex held.
  void come_behind(const Storage& storage) {
    for (const OpenReading& each : storage.readings) {
      if ((each.queue == queue_ && each.is_in_order) || std::ranges::count(held_, each.event) != 0) continue;
      below.clRetainEvent(each.event);
      held_.push_back(each.event);
      add(each.event);
    }
  }

  // An event that outlives this object.
  void add(cl_event event) {
    if (all_.empty() && given_ != nullptr) all_.assign(given_, given_ + count_);
    all_.push_back(event);
  }

  cl_uint count() const { return all_.empty() ? count_ : static_cast<cl_uint>(all_.size()); }
  const cl_event* events() const { return all_.empty() ? given_ : all_.data(); }

 private:
  const cl_command_queue queue_;
  const cl_event* const given_;
  const cl_uint count_;
  std::vector<cl_event> held_, all_;
};

// Calls `enqueue(count, events)` behind the open readings of the buffer; if that succeeds, its bytes are the host's.
template <typename Enqueue>
auto writing(cl_command_queue queue, cl_mem memory, size_t first, size_t bytes, cl_uint count, const cl_event* events,
             const Enqueue& enqueue) {
  if (!layer().is_active()) return enqueue(count, events);
  Waits waits(queue, count, events);
  guarded([&] {
    const std::lock_guard lock(layer().objects.mutex);
    Buffer* buffer = layer().objects.buffer(memory);
    if (buffer == nullptr) return;
    waits.come_behind(*buffer->storage);
    layer().objects.wrote(*buffer, first, bytes);
  });
  return enqueue(waits.count(), waits.events());
}

}  // namespace tensorstat::attach
