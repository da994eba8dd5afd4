// Follows all commands that are enqueued, and the events that they are given.
#include "stats/job/attach/program/order.hpp"

#include <algorithm>
#include <tuple>

#include "stats/job/attach/program/objects.hpp"

namespace tensorstat::attach {

void Order::add_up_to(std::uint32_t queue, std::uint64_t in_queue) {
  const auto entry = std::ranges::lower_bound(up_to_, queue, {}, &std::pair<std::uint32_t, std::uint64_t>::first);
  if (entry != up_to_.end() && entry->first == queue) {
    entry->second = std::max(entry->second, in_queue);
    return;
  }
  up_to_.insert(entry, {queue, in_queue});
  // The oldest queues are forgotten.
  if (up_to_.size() > kMostQueues) up_to_.erase(up_to_.begin());
}

void Order::add(const CommandNumber& command) {
  const auto position = std::ranges::lower_bound(commands_, command.of_process);
  if (position != commands_.end() && *position == command.of_process) return;
  commands_.insert(position, command.of_process);
  if (commands_.size() > kMostCommands) commands_.erase(commands_.begin());
}

void Order::add(const Order& other) {
  for (const auto& [queue, in_queue] : other.up_to_) add_up_to(queue, in_queue);
  if (other.commands_.empty()) return;
  std::vector<std::uint64_t> all;
  std::ranges::set_union(commands_, other.commands_, std::back_inserter(all));
  if (all.size() > kMostCommands) all.erase(all.begin(), all.end() - kMostCommands);
  commands_ = std::move(all);
}

std::uint64_t Order::last_of(std::uint32_t queue) const {
  const auto entry = std::ranges::lower_bound(up_to_, queue, {}, &std::pair<std::uint32_t, std::uint64_t>::first);
  return entry != up_to_.end() && entry->first == queue ? entry->second : 0;
}

bool Order::has(const CommandNumber& command) const {
  return last_of(command.queue) >= command.in_queue || std::ranges::binary_search(commands_, command.of_process);
}

Order Objects::order_before(const Queue& queue, cl_uint count, const cl_event* events) const {
  Order order = queue.order;
  if (queue.is_in_order && queue.commands != 0) order.add_up_to(queue.number, queue.commands);
  for (cl_uint i = 0; events != nullptr && i < count; ++i) {
    const auto event = this->events.find(events[i]);
    if (event != this->events.end()) order.add(event->second.order);
  }
  return order;
}

CommandNumber Objects::enqueued(Queue& queue, Order before, cl_event event, bool is_barrier) {
  const CommandNumber command{queue.number, ++queue.commands, ++commands};
  // Between the question and now another thread may have enqueued something on this queue, on either side.
  const bool is_next = before.last_of(queue.number) + 1 == command.in_queue;
  if (queue.is_in_order && is_next) {
    before.add_up_to(queue.number, command.in_queue);
  } else {
    before.add(command);
  }
  if (queue.is_in_order || is_barrier) queue.order.add(before);
  if (!queue.is_in_order) queue.all.add(before);
  if (event != nullptr) events.insert_or_assign(event, KnownEvent{std::move(before)});
  return command;
}

thread_local std::vector<std::shared_ptr<Storage>>* written_now = nullptr;

namespace {

// A command that the program enqueues by some function, which `next` serves.
enum class Kind : std::uint8_t { kOther, kWriter, kMarker, kBarrier };
template <auto kSlot, Kind kKind, typename Type>
struct Followed;
template <auto kSlot, Kind kKind, typename Return, typename... Arguments>
struct Followed<kSlot, kKind, Return(CL_API_CALL*)(cl_command_queue, Arguments...)> {
  using Function = Return(CL_API_CALL*)(cl_command_queue, Arguments...);
  static inline Function next = nullptr;
  static constexpr bool kIsMarker = kKind == Kind::kMarker || kKind == Kind::kBarrier,
                        kIsBarrier = kKind == Kind::kBarrier;

  // The last arguments are the events to wait for and where the command's event goes; behind these, a function that
  // maps has where its error goes.
  static constexpr bool kMaps = std::is_same_v<Return, void*>;
  static constexpr std::size_t kEvent = sizeof...(Arguments) - (kMaps ? 2 : 1);

  static Return CL_API_CALL call(cl_command_queue handle, Arguments... arguments) {
    if (!layer().is_active()) return next(handle, arguments...);
    auto all = std::tie(arguments...);
    const cl_uint count = std::get<kEvent - 2>(all);
    const cl_event* const wait = std::get<kEvent - 1>(all);
    // While a command that writes may still write, the layer knows its event.
    cl_event own = nullptr;
    if (kKind == Kind::kWriter && std::get<kEvent>(all) == nullptr) std::get<kEvent>(all) = &own;
    const cl_event* const event = std::get<kEvent>(all);
    std::vector<std::shared_ptr<Storage>> written;
    if (kKind == Kind::kWriter) written_now = &written;
    Order before;
    guarded([&] {
      const std::lock_guard lock(layer().objects.mutex);
      const auto queue = layer().objects.queue(handle);
      if (queue == nullptr) return;
      before = layer().objects.order_before(*queue, count, wait);
      // Without a list it is behind all that is there.
      if (kIsMarker && count == 0) before.add(queue->all);
    });
    const Return result = next(handle, arguments...);
    written_now = nullptr;
    bool has_succeeded = false;
    if constexpr (kMaps) {
      has_succeeded = result != nullptr;
    } else {
      has_succeeded = result == CL_SUCCESS;
    }
    if (has_succeeded) {
      guarded([&] {
        const cl_event given = event == nullptr || event == &own ? nullptr : *event;
        note(handle, std::move(before), given, event == nullptr ? nullptr : *event, written);
      });
      if (own != nullptr) below.clReleaseEvent(own);
      if (!written.empty()) guarded([] { layer().objects.destroy_dropped(); });
    }
    return result;
  }

  static void note(cl_command_queue handle, Order before, cl_event given, cl_event event,
                   const std::vector<std::shared_ptr<Storage>>& written) {
    const std::lock_guard lock(layer().objects.mutex);
    const auto queue = layer().objects.queue(handle);
    if (queue == nullptr) {
      layer().objects.events.erase(given);
      return;
    }
    const CommandNumber number = layer().objects.enqueued(*queue, std::move(before), given, kIsBarrier);
    if (written.empty() || has_event_ended(event)) return;
    for (const auto& storage : written) layer().objects.writes(*storage, {handle, queue->is_in_order, number}, event);
  }
};

template <auto kSlot, Kind kKind = Kind::kOther>
void follow(cl_icd_dispatch& table) {
  using Type = std::remove_reference_t<decltype(table.*kSlot)>;
  if (table.*kSlot == nullptr) return;
  Followed<kSlot, kKind, Type>::next = table.*kSlot;
  table.*kSlot = Followed<kSlot, kKind, Type>::call;
}

// The order before a command that is behind all that is on the queue, or behind a list of events.
Order behind_all_of(cl_command_queue handle) {
  const std::lock_guard lock(layer().objects.mutex);
  const auto queue = layer().objects.queue(handle);
  if (queue == nullptr) return {};
  Order before = layer().objects.order_before(*queue, 0, nullptr);
  before.add(queue->all);
  return before;
}

void note_old(cl_command_queue handle, Order before, cl_event event, bool is_barrier) {
  const std::lock_guard lock(layer().objects.mutex);
  const auto queue = layer().objects.queue(handle);
  if (queue != nullptr) layer().objects.enqueued(*queue, std::move(before), event, is_barrier);
}

// The markers and barriers of OpenCL 1.1.
cl_int CL_API_CALL old_marker(cl_command_queue queue, cl_event* event) {
  if (!layer().is_active() || event == nullptr) return below.clEnqueueMarker(queue, event);
  Order before;
  guarded([&] { before = behind_all_of(queue); });
  const cl_int code = below.clEnqueueMarker(queue, event);
  if (code == CL_SUCCESS) guarded([&] { note_old(queue, std::move(before), *event, false); });
  return code;
}

cl_int CL_API_CALL old_barrier(cl_command_queue queue) {
  if (!layer().is_active()) return below.clEnqueueBarrier(queue);
  Order before;
  guarded([&] { before = behind_all_of(queue); });
  const cl_int code = below.clEnqueueBarrier(queue);
  if (code == CL_SUCCESS) guarded([&] { note_old(queue, std::move(before), nullptr, true); });
  return code;
}

cl_int CL_API_CALL old_wait(cl_command_queue handle, cl_uint count, const cl_event* events) {
  if (!layer().is_active()) return below.clEnqueueWaitForEvents(handle, count, events);
  Order before;
  guarded([&] {
    const std::lock_guard lock(layer().objects.mutex);
    if (const auto queue = layer().objects.queue(handle)) before = layer().objects.order_before(*queue, count, events);
  });
  const cl_int code = below.clEnqueueWaitForEvents(handle, count, events);
  if (code == CL_SUCCESS) guarded([&] { note_old(handle, std::move(before), nullptr, true); });
  return code;
}

// An event is forgotten with the program's last reference: its handle may be another event's then.
cl_int CL_API_CALL retain_event(cl_event event) {
  const cl_int code = below.clRetainEvent(event);
  if (code == CL_SUCCESS && layer().is_active()) {
    const std::lock_guard lock(layer().objects.mutex);
    const auto known = layer().objects.events.find(event);
    if (known != layer().objects.events.end()) ++known->second.references;
  }
  return code;
}

cl_int CL_API_CALL release_event(cl_event event) {
  if (layer().is_active()) {
    const std::lock_guard lock(layer().objects.mutex);
    const auto known = layer().objects.events.find(event);
    if (known != layer().objects.events.end() && --known->second.references == 0) layer().objects.events.erase(known);
  }
  return below.clReleaseEvent(event);
}

cl_event CL_API_CALL create_user_event(cl_context context, cl_int* code) {
  const cl_event made = below.clCreateUserEvent(context, code);
  if (made != nullptr && layer().is_active()) {
    const std::lock_guard lock(layer().objects.mutex);
    layer().objects.events.erase(made);
  }
  return made;
}

// The layer's references are not the program's.
cl_int CL_API_CALL event_info(cl_event event, cl_event_info what, size_t bytes, void* value, size_t* needed) {
  const cl_int code = below.clGetEventInfo(event, what, bytes, value, needed);
  if (what == CL_EVENT_REFERENCE_COUNT && code == CL_SUCCESS && value != nullptr && layer().is_active())
    *static_cast<cl_uint*>(value) -= HeldEvent::references_of(event);
  return code;
}

}  // namespace

void follow_order(cl_icd_dispatch& table) {
  follow<&cl_icd_dispatch::clEnqueueReadBuffer>(table);
  follow<&cl_icd_dispatch::clEnqueueReadBufferRect>(table);
  follow<&cl_icd_dispatch::clEnqueueWriteBuffer, Kind::kWriter>(table);
  follow<&cl_icd_dispatch::clEnqueueWriteBufferRect, Kind::kWriter>(table);
  follow<&cl_icd_dispatch::clEnqueueFillBuffer, Kind::kWriter>(table);
  follow<&cl_icd_dispatch::clEnqueueCopyBuffer, Kind::kWriter>(table);
  follow<&cl_icd_dispatch::clEnqueueCopyBufferRect, Kind::kWriter>(table);
  follow<&cl_icd_dispatch::clEnqueueReadImage>(table);
  follow<&cl_icd_dispatch::clEnqueueWriteImage>(table);
  follow<&cl_icd_dispatch::clEnqueueFillImage>(table);
  follow<&cl_icd_dispatch::clEnqueueCopyImage>(table);
  follow<&cl_icd_dispatch::clEnqueueCopyImageToBuffer, Kind::kWriter>(table);
  follow<&cl_icd_dispatch::clEnqueueCopyBufferToImage>(table);
  follow<&cl_icd_dispatch::clEnqueueMapBuffer, Kind::kWriter>(table);
  follow<&cl_icd_dispatch::clEnqueueMapImage>(table);
  follow<&cl_icd_dispatch::clEnqueueUnmapMemObject, Kind::kWriter>(table);
  follow<&cl_icd_dispatch::clEnqueueMigrateMemObjects>(table);
  follow<&cl_icd_dispatch::clEnqueueNativeKernel, Kind::kWriter>(table);
  follow<&cl_icd_dispatch::clEnqueueMarkerWithWaitList, Kind::kMarker>(table);
  follow<&cl_icd_dispatch::clEnqueueBarrierWithWaitList, Kind::kBarrier>(table);
  follow<&cl_icd_dispatch::clEnqueueSVMFree>(table);
  follow<&cl_icd_dispatch::clEnqueueSVMMemcpy, Kind::kWriter>(table);
  follow<&cl_icd_dispatch::clEnqueueSVMMemFill, Kind::kWriter>(table);
  follow<&cl_icd_dispatch::clEnqueueSVMMap, Kind::kWriter>(table);
  follow<&cl_icd_dispatch::clEnqueueSVMUnmap, Kind::kWriter>(table);
  follow<&cl_icd_dispatch::clEnqueueSVMMigrateMem>(table);
  follow<&cl_icd_dispatch::clEnqueueAcquireGLObjects>(table);
  follow<&cl_icd_dispatch::clEnqueueReleaseGLObjects>(table);
  table.clEnqueueMarker = old_marker;
  table.clEnqueueBarrier = old_barrier;
  table.clEnqueueWaitForEvents = old_wait;
  table.clRetainEvent = retain_event;
  table.clReleaseEvent = release_event;
  table.clCreateUserEvent = create_user_event;
  table.clGetEventInfo = event_info;
}

}  // namespace tensorstat::attach
