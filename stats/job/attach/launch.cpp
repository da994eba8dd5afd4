// A launch of a kernel: the readings before and after it, and the new state of its buffers.
#include <algorithm>
#include <chrono>

#include "stats/job/attach/collector.hpp"
#include "stats/job/attach/program/extensions.hpp"
#include "stats/job/attach/program/waits.hpp"

namespace tensorstat::attach {
namespace {

using Argument = Launch::Argument;

// A launch on its way to the driver.
struct Plan {
  std::shared_ptr<Queue> queue;
  std::shared_ptr<Kernel> kernel;
  std::unique_ptr<Launch> launch;  // null: its arguments are not measured
  std::vector<cl_mem> written;     // buffers
  bool is_over_queues = false;     // of a command buffer
  bool is_in_order = true;         // what comes behind it on its queue finds it done
  bool holds_host_memory = false;  // that the program may free once its event has completed
};

std::uint64_t now_us() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
}

bool is_wanted(const Settings& settings, const Kernel& kernel, std::uint64_t number, std::uint64_t of_kernel) {
  return number >= settings.first_launch && number <= settings.last_launch && of_kernel % settings.every == 0 &&
         kernel.is_chosen;
}

// One reading serves arguments that are the same buffer.
template <typename Place>
std::size_t add_extent(std::vector<Extent>& extents, const std::vector<Argument>& arguments, const Argument& argument,
                       const Place& place) {
  for (const Argument& other : arguments) {
    if (other.*place != Argument::kNone && other.extent.memory == argument.extent.memory &&
        other.extent.dtype == argument.extent.dtype) {
      return other.*place;
    }
  }
  extents.push_back(argument.extent);
  return extents.size() - 1;
}

class Launching {
 public:
  // `commands`: of a command buffer, which is launched as one kernel; else null.
  Launching(cl_command_queue queue, cl_kernel kernel, cl_uint count, const cl_event* events,
            std::shared_ptr<Kernel> commands = nullptr, bool is_over_queues = false)
      : queue_(queue), kernel_(kernel), waits_(queue, count, events), count_(count), events_(events) {
    plan_.kernel = std::move(commands);
    plan_.is_over_queues = is_over_queues;
  }

  template <typename Enqueue>
  cl_int run(cl_event* event, const Enqueue& enqueue) {
    guarded([&] { is_planned_ = plan(); });
    if (!is_planned_) return enqueue(count_, events_, event);
    // With an event of its own the layer sees when the launch has completed, and can order readings on an out-of-order
    // queue.
    cl_event launched = nullptr;
    cl_int code = CL_SUCCESS;
    if (!plan_.launch) {
      guarded([] { collector().note(); });
      code = enqueue(waits_.count(), waits_.events(), &launched);
      if (code == CL_SUCCESS) guarded([&] { commit(event == nullptr ? nullptr : launched, launched); });
      guarded([] { layer().objects.destroy_dropped(); });
      if (event != nullptr && code == CL_SUCCESS) {
        *event = launched;
      } else if (launched != nullptr) {
        below.clReleaseEvent(launched);
      }
      return code;
    }
    {
      const std::lock_guard together(plan_.queue->together);
      guarded([&] { read_before(); });
      const bool wants_marker = plan_.holds_host_memory && event != nullptr;
      code = enqueue(waits_.count(), waits_.events(), &launched);
      if (code == CL_SUCCESS) {
        guarded([&] { read_after(plan_.is_in_order ? nullptr : launched); });
        if (event != nullptr && !(wants_marker && mark(event))) {
          *event = launched;
          below.clRetainEvent(launched);
        }
      }
    }
    if (code == CL_SUCCESS) guarded([&] { commit(event == nullptr ? nullptr : *event, launched); });
    if (launched != nullptr) below.clReleaseEvent(launched);
    guarded([] { layer().objects.destroy_dropped(); });
    // A reading that is under way is the collector's, whatever became of the launch.
    plan_.launch->has_failed = code != CL_SUCCESS;
    guarded([&] { collector().add(std::move(plan_.launch)); });
    return code;
  }

 private:
  // Whether the layer knows the queue and the kernel.
  bool plan() {
    if (!layer().is_active() || !waits_.is_list()) return false;
    Objects& objects = layer().objects;
    std::unique_lock lock(objects.mutex);
    plan_.queue = objects.queue(queue_);
    if (plan_.queue == nullptr) {
      // Made by a function of an extension.
      lock.unlock();
      adopt_queue(queue_);
      lock.lock();
      plan_.queue = objects.queue(queue_);
    }
    if (plan_.kernel == nullptr) plan_.kernel = objects.kernel(kernel_);
    if (plan_.queue == nullptr || plan_.kernel == nullptr) return false;
    plan_.is_in_order = plan_.queue->is_in_order && !plan_.is_over_queues;
    const std::uint64_t number = objects.launches++, of_kernel = plan_.kernel->launches++;
    lock.unlock();
    ++layer().tally->launches;
    const bool wanted = is_wanted(layer().settings, *plan_.kernel, number, of_kernel);
    find_types(kernel_, *plan_.kernel, *plan_.queue, wanted);
    if (wanted) {
      plan_.launch = std::make_unique<Launch>();
      plan_.launch->number = number;
      plan_.launch->kernel = plan_.kernel->name;
      plan_.launch->context = plan_.queue->context;
      plan_.launch->queue_number = plan_.queue->number;
      plan_.launch->is_ordered = plan_.is_in_order;
      plan_.launch->timestamp_us = now_us();
    }
    lock.lock();
    static_cast<void>(waits_.order());  // as it is before the launch
    for (const cl_mem each : plan_.kernel->also_written) {
      const Buffer* buffer = objects.buffer(each);
      if (buffer == nullptr) continue;
      waits_.come_behind(buffer->storage);
      plan_.written.push_back(each);
    }
    for (std::uint32_t i = 0; i < plan_.kernel->values.size(); ++i) {
      const Kernel::Value& value = plan_.kernel->values[i];
      const auto& types = plan_.kernel->types;
      const auto& dtypes = plan_.kernel->dtypes;
      if (i >= types.size() || types[i].kind == ArgumentType::Kind::kValue) continue;
      add_argument(i, types[i], wanted && i < dtypes.size() ? dtypes[i] : std::nullopt, value);
    }
    lock.unlock();
    const bool is_full = wanted && !collector().has_room();
    if (is_full) layer().tally->left_out += plan_.launch->arguments.size();
    if (wanted && (is_full || plan_.launch->arguments.empty())) plan_.launch.reset();
    return true;
  }

  void not_seen(std::uint32_t slot, const char* why) {
    if (plan_.launch) plan_.launch->not_seen = "argument " + std::to_string(slot) + why;
  }

  void add_argument(std::uint32_t slot, const ArgumentType& type, std::optional<Dtype> known_dtype,
                    const Kernel::Value& value) {
    Tally& tally = *layer().tally;
    Buffer* buffer = layer().objects.buffer(value.handle);
    if (type.kind == ArgumentType::Kind::kImage || (buffer != nullptr && buffer->is_image)) {
      if (plan_.launch) ++tally.images;
      return not_seen(slot, " is an image or a pipe, which is not measured");
    }
    if (value.is_unknown_memory || (buffer == nullptr && type.is_told && value.handle != nullptr)) {
      if (plan_.launch) ++tally.unknown_memory;
      return not_seen(slot, " is memory of an extension, which is not measured");
    }
    if (buffer == nullptr) return;
    // Whatever it holds may be the host's.
    if (buffer->storage->is_open_to_others) layer().objects.wrote(*buffer, 0, buffer->bytes);
    const bool is_written = !type.is_const && (buffer->flags & CL_MEM_READ_ONLY) == 0;
    if (is_written) {
      waits_.come_behind(buffer->storage);
      plan_.written.push_back(static_cast<cl_mem>(value.handle));
    }
    if (!plan_.launch) return;
    if (!known_dtype) {
      ++tally.not_understood;
      not_seen(slot, " has elements of no known type (--types names them)");
    }
    const Dtype dtype = known_dtype.value_or(Dtype::kUint8);
    Argument argument{.slot = slot};
    argument.extent = {static_cast<cl_mem>(value.handle), dtype, buffer->bytes / size_bytes(dtype)};
    if (argument.extent.count == 0) return;
    // Its memory may be freed behind an event that is the kernel's own, as profiling wants it.
    if (buffer->storage->is_host_memory && plan_.queue->is_profiling) {
      ++tally.left_out;
      return not_seen(slot, " is the program's own memory, on a queue that is profiled");
    }
    plan_.holds_host_memory |= buffer->storage->is_host_memory;
    argument.is_disturbed = disturbance_of(buffer->storage);
    argument.version = buffer->storage->version;
    argument.is_written = is_written;
    argument.is_read = (buffer->flags & CL_MEM_WRITE_ONLY) == 0;
    argument.is_defined = !buffer->storage->undefined.overlaps(buffer->origin, buffer->end());
    const auto& known = buffer->known;
    if (!argument.is_defined || (layer().settings.poison && argument.is_written)) {
      LookWanted look{.argument = plan_.launch->arguments.size(), .number = buffer->storage->number};
      for (const auto& [begin, end] : buffer->storage->undefined.within(buffer->origin, buffer->end()))
        look.undefined.push_back({begin - buffer->origin, end - buffer->origin});
      looks_.push_back(std::move(look));
    }
    if (!argument.is_defined) {
      // Undefined content is not an input; UnwrittenLook checks its NaN and Inf.
    } else if (known && known->version == buffer->storage->version && known->dtype == dtype &&
               (known->seen->is_there || known->queue == queue_)) {
      argument.before = known->seen;
    } else if (argument.is_read || argument.is_written) {
      auto& arguments = plan_.launch->arguments;
      argument.in_before = add_extent(before_, arguments, argument, &Argument::in_before);
      argument.before = seen_of(arguments, &Argument::in_before, argument.in_before, &Argument::before);
    }
    if (argument.is_written) {
      auto& arguments = plan_.launch->arguments;
      argument.in_after = add_extent(after_, arguments, argument, &Argument::in_after);
      argument.after = seen_of(arguments, &Argument::in_after, argument.in_after, &Argument::after);
    }
    plan_.launch->arguments.push_back(std::move(argument));
  }

  // Whether readings of a storage around this launch must not be trusted; shared by all its arguments in that storage.
  // An earlier command that this launch does not wait for may write at any time.
  std::shared_ptr<std::atomic<bool>> disturbance_of(const std::shared_ptr<Storage>& storage) {
    auto& storages = plan_.launch->storages;
    for (const Launch::Watched& each : storages) {
      if (each.storage == storage) return each.is_disturbed;
    }
    auto is_disturbed = std::make_shared<std::atomic<bool>>(!waits_.is_behind_writers(*storage));
    storages.push_back({storage, is_disturbed});
    return is_disturbed;
  }

  static std::shared_ptr<Snapshot> seen_of(const std::vector<Argument>& arguments, std::size_t Argument::*place,
                                           std::size_t index, std::shared_ptr<Snapshot> Argument::*seen) {
    for (const Argument& other : arguments) {
      if (other.*place == index && other.*seen != nullptr) return other.*seen;
    }
    return std::make_shared<Snapshot>();
  }

  // Later launches on the same in-order queue may reuse this queue's readings.
  cl_command_queue ordered_queue() const { return plan_.is_in_order ? queue_ : nullptr; }

  void read_before() {
    if (before_.empty() && looks_.empty()) return;
    Reader* reader = reader_of(*plan_.queue);
    if (reader == nullptr) return;
    const std::vector<cl_event> behind(waits_.events(), waits_.events() + waits_.count());
    for (const LookWanted& wanted : looks_) {
      Argument& argument = plan_.launch->arguments[wanted.argument];
      argument.look = look_at_unwritten(*plan_.queue, queue_, argument.extent, wanted.undefined, wanted.number, behind);
      if (argument.look && argument.look->before_event() != nullptr && !plan_.is_in_order)
        waits_.add(argument.look->before_event());
    }
    if (before_.empty()) return;
    // The launch may wait for whoever makes its inputs. So does the reading.
    auto reading = reader->read(queue_, before_, behind);
    if (!reading) return layer().tally->left_out_because(reading.error().message);
    plan_.launch->before = *std::move(reading);
    if (!plan_.is_in_order) waits_.add(plan_.launch->before->event());
  }

  void read_after(cl_event launched) {
    for (Argument& argument : plan_.launch->arguments) {
      if (argument.look && !argument.look->look_after(queue_, launched)) argument.has_lost_look = true;
    }
    if (after_.empty()) return;
    Reader* reader = reader_of(*plan_.queue);
    if (reader == nullptr) return;
    auto reading = reader->read(queue_, after_, {&launched, launched == nullptr ? std::size_t{0} : 1});
    if (!reading) return layer().tally->left_out_because(reading.error().message);
    plan_.launch->after = *std::move(reading);
  }

  // The program's event, behind all readings. False: it may be the launch's own, which nothing reads behind.
  bool mark(cl_event* event) {
    const auto readings = plan_.launch->events();
    if (readings.empty()) return false;
    if (below.clEnqueueMarkerWithWaitList(queue_, static_cast<cl_uint>(readings.size()), readings.data(), event) ==
        CL_SUCCESS)
      return true;
    const auto behind = plan_.launch->events_behind();
    if (behind.empty()) return false;
    below.clRetainEvent(behind.back());
    *event = behind.back();
    return true;
  }

  // Records the new state of the launch's buffers. `given`: the program's event, or null.
  void commit(cl_event given, cl_event launched) {
    const std::lock_guard lock(layer().objects.mutex);
    Objects& objects = layer().objects;
    // On several queues it is a command of none.
    CommandNumber number{plan_.queue->number, UINT64_MAX, 0};
    if (!plan_.is_over_queues) number = objects.enqueued(*plan_.queue, waits_.order(), given);
    for (const cl_mem each : plan_.written) {
      Buffer* buffer = objects.buffer(each);
      if (buffer == nullptr) continue;
      objects.wrote(*buffer, 0, buffer->bytes);
      objects.writes(*buffer->storage, {queue_, plan_.is_in_order, number}, launched);
    }
    if (!plan_.launch) return;
    for (const Argument& argument : plan_.launch->arguments) {
      Buffer* buffer = objects.buffer(argument.extent.memory);
      if (buffer == nullptr) continue;
      const std::uint64_t version = buffer->storage->version;
      if (argument.is_written && plan_.launch->after) {
        buffer->known = {version, argument.extent.dtype, argument.after, ordered_queue()};
      } else if (argument.in_before != Argument::kNone && plan_.launch->before && version == argument.version) {
        buffer->known = {version, argument.extent.dtype, argument.before, ordered_queue()};
      }
    }
    const auto readings = plan_.launch->events();
    if (readings.empty()) return;
    plan_.launch->open = std::make_shared<OpenLaunch>(OnQueue{queue_, plan_.is_in_order, number}, readings, launched);
    for (const auto& each : plan_.launch->storages)
      each.storage->readings.push_back({plan_.launch->open, each.is_disturbed});
  }

  const cl_command_queue queue_;
  const cl_kernel kernel_;
  Waits waits_;
  const cl_uint count_;
  const cl_event* const events_;
  Plan plan_;
  bool is_planned_ = false;
  std::vector<Extent> before_, after_;
  struct LookWanted {
    std::size_t argument;
    std::uint32_t number;
    std::vector<UnwrittenBytes> undefined{};
  };
  std::vector<LookWanted> looks_;
};

cl_int CL_API_CALL launch_range(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t* offset,
                                const size_t* global, const size_t* local, cl_uint count, const cl_event* wait,
                                cl_event* event) {
  return Launching(queue, kernel, count, wait).run(event, [&](cl_uint more, const cl_event* events, cl_event* told) {
    return below.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, more, events, told);
  });
}

cl_int CL_API_CALL launch_task(cl_command_queue queue, cl_kernel kernel, cl_uint count, const cl_event* wait,
                               cl_event* event) {
  return Launching(queue, kernel, count, wait).run(event, [&](cl_uint more, const cl_event* events, cl_event* told) {
    return below.clEnqueueTask(queue, kernel, more, events, told);
  });
}

}  // namespace

cl_int launch_commands(EnqueueCommands enqueue, const CommandBuffer& commands, cl_uint queue_count,
                       cl_command_queue* queues, cl_uint count, const cl_event* wait, cl_event* event) {
  const cl_command_queue queue = queue_count != 0 && queues != nullptr ? queues[0] : commands.queue;
  if (commands.is_mutable && layer().is_active()) {
    guarded([&] {
      ++layer().tally->launches;
      ++layer().tally->unknown_commands;
      collector().note();
      const std::lock_guard lock(layer().objects.mutex);
      layer().objects.wrote_anything(queue);
    });
    return enqueue(queue_count, queues, commands.handle, count, wait, event);
  }
  return Launching(queue, nullptr, count, wait, commands.kernel, queue_count > 1)
      .run(event, [&](cl_uint more, const cl_event* events, cl_event* told) {
        return enqueue(queue_count, queues, commands.handle, more, events, told);
      });
}

void fill_launches(cl_icd_dispatch& table) {
  table.clEnqueueNDRangeKernel = launch_range;
  table.clEnqueueTask = launch_task;
}

}  // namespace tensorstat::attach
