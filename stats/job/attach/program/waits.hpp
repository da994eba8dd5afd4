// The wait list of a command of the program, with the events of readings that it must come behind.
#pragma once

#include <algorithm>
#include <vector>

#include "stats/job/attach/program/objects.hpp"

namespace tensorstat::attach {

class Waits {
 public:
  Waits(cl_command_queue queue, cl_uint count, const cl_event* events) : queue_(queue), given_(events), count_(count) {}
  Waits(const Waits&) = delete;
  Waits& operator=(const Waits&) = delete;

  // The command changes these bytes. It comes behind the readings of launches that it is behind anyway (order.hpp);
  // other readings are not trusted any more. With the objects' mutex held.
  void come_behind(const std::shared_ptr<Storage>& storage) {
    if (written_now != nullptr) written_now->push_back(storage);
    for (const OpenReading& each : storage->readings) {
      const OpenLaunch& launch = *each.launch;
      if (keeps_order_with(launch.place) || launch.has_been_read()) continue;
      if (!launch.launched.has_completed() && !order().has(launch.place.number)) {
        each.is_disturbed->store(true);
        continue;
      }
      for (const HeldEvent& reading : launch.readings) {
        if (std::ranges::count(held_, reading.get(), &HeldEvent::get) != 0) continue;
        held_.emplace_back(reading.get());
        add(reading.get());
      }
    }
  }

  // Whether all commands that write these bytes have completed before the command begins. With the objects' mutex held.
  bool is_behind_writers(Storage& storage) {
    layer().objects.forget_completed(storage.writers);
    return std::ranges::all_of(storage.writers, [&](const std::shared_ptr<OpenWriter>& each) {
      return keeps_order_with(each->place) || order().has(each->place.number);
    });
  }

  // The predecessors of the command in the program's own order. Call with the objects' mutex held.
  const Order& order() {
    if (!order_) {
      const auto queue = layer().objects.queue(queue_);
      order_ = queue == nullptr ? Order() : layer().objects.order_before(*queue, count_, given_);
    }
    return *order_;
  }

  // Whether the program's list is one. The driver refuses the command otherwise.
  bool is_list() const { return given_ != nullptr || count_ == 0; }

  // An event that outlives this object.
  void add(cl_event event) {
    if (!is_list()) return;
    if (all_.empty() && given_ != nullptr) all_.assign(given_, given_ + count_);
    all_.push_back(event);
  }

  cl_uint count() const { return all_.empty() ? count_ : static_cast<cl_uint>(all_.size()); }
  const cl_event* events() const { return all_.empty() ? given_ : all_.data(); }

 private:
  bool keeps_order_with(const OnQueue& place) const { return place.queue == queue_ && place.is_in_order; }

  const cl_command_queue queue_;
  const cl_event* const given_;
  const cl_uint count_;
  std::vector<HeldEvent> held_;
  std::vector<cl_event> all_;
  std::optional<Order> order_;
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
    waits.come_behind(buffer->storage);
    layer().objects.wrote(*buffer, first, bytes);
  });
  return enqueue(waits.count(), waits.events());
}

}  // namespace tensorstat::attach
