// The layer's model of the program's objects: buffers and their writers, kernels and their arguments, programs, queues,
// contexts.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tensorstat/statistics.hpp>
#include <unordered_map>
#include <vector>

#include "stats/core/base/process_id.hpp"
#include "stats/job/attach/below.hpp"
#include "stats/job/attach/measured.hpp"
#include "stats/job/attach/program/open_launch.hpp"
#include "stats/job/attach/settings.hpp"
#include "stats/job/attach/tally.hpp"

namespace tensorstat::attach {

// A set of bytes.
class Ranges {
 public:
  void add(std::uint64_t begin, std::uint64_t end);
  void remove(std::uint64_t begin, std::uint64_t end);
  bool overlaps(std::uint64_t begin, std::uint64_t end) const;
  // The bytes of the set in there.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> within(std::uint64_t begin, std::uint64_t end) const;

 private:
  std::map<std::uint64_t, std::uint64_t> ends_;  // by where they begin
};

// The statistics of an argument at one time. Written by the collector, and read by it alone.
struct Snapshot {
  std::atomic<bool> is_there{false};
  bool is_scratch = false;  // NaN or Inf in it are of memory that nobody wrote
  Statistics statistics;
};

// The bytes of a buffer and of its sub-buffers.
struct Storage {
  std::uint64_t version = 0;  // counts what may have written
  Ranges undefined;           // bytes that nobody wrote
  std::vector<OpenReading> readings;
  std::vector<std::shared_ptr<OpenWriter>> writers;
  std::uint32_t number = 0;     // of the process
  bool is_host_memory = false;  // of the program, which may free it once the launch has ended
  // The layer does not see all that writes it: the host writes it without a call, images are made of it, or kernels
  // follow pointers into it.
  bool is_open_to_others = false;
};

// The storages that this thread's current command writes. Null: the caller does not ask.
extern thread_local std::vector<std::shared_ptr<Storage>>* written_now;

struct Buffer {
  std::shared_ptr<Storage> storage;
  std::uint64_t origin = 0, bytes = 0;
  cl_mem_flags flags = 0;
  bool is_image = false;
  cl_uint references = 1;  // of the program
  // The content at a version of the storage.
  struct Known {
    std::uint64_t version;
    Dtype dtype;
    std::shared_ptr<Snapshot> seen;
    cl_command_queue queue;  // that keeps order; else null
  };
  std::optional<Known> known = {};

  std::uint64_t end() const { return origin + bytes; }
};

// Shared virtual memory, represented by a buffer that the layer creates over it.
struct SharedMemory {
  cl_mem buffer = nullptr;
  std::uint64_t bytes = 0;
};

// The type of a kernel's argument, as its program tells it.
struct ArgumentType {
  enum class Kind : std::uint8_t { kValue, kBuffer, kImage };
  Kind kind = Kind::kValue;
  bool is_const = false;
  bool is_told = true;  // by the driver
};

struct Program {
  std::optional<std::string> options = {};  // as the program gave them
  bool is_built_with_more = false;          // with -cl-kernel-arg-info
  bool is_from_source = false;
  std::mutex mutex;                                      // of the map
  std::map<std::string, std::optional<Dtype>> probed{};  // by type name
};

struct Kernel {
  std::string name;
  std::shared_ptr<Program> program;
  // The bytes of each argument that may be a handle; else null.
  struct Value {
    void* handle = nullptr;
    bool is_unknown_memory = false;  // a pointer into memory that the layer does not know
  };
  std::vector<Value> values;
  std::vector<cl_mem> also_written{};  // of a command buffer, which copies and fills as well
  cl_uint references = 1;
  std::uint64_t launches = 0;
  std::once_flag once, once_dtypes;  // of `types`, and of their dtypes
  std::vector<ArgumentType> types{};
  std::vector<std::optional<Dtype>> dtypes{};  // nullopt: nothing says what the elements are
  bool is_chosen = true;                       // by its name
};

class Recorder;
struct UnwrittenPrograms;

struct Context {
  cl_context handle = nullptr;
  cl_uint references = 1;                                     // of the program
  std::mutex mutex{};                                         // of `readers`
  std::map<cl_device_id, std::unique_ptr<Reader>> readers{};  // null: it cannot be opened
  std::shared_ptr<Recorder> recorder{};                       // the collector's
  bool has_recorder = false;                                  // or has tried to have one
  std::shared_ptr<UnwrittenPrograms> unwritten{};             // under the mutex
};

struct Queue {
  std::shared_ptr<Context> context{};
  cl_device_id device = nullptr;
  std::uint32_t number = 0;  // of the process
  bool is_in_order = true, is_profiling = false;
  cl_uint references = 1;
  std::mutex together{};  // keeps the commands around a launch together
  // Under the objects' mutex:
  std::uint64_t commands = 0;  // the number of enqueued commands
  Order order{};               // predecessors of each further command; an in-order queue adds its own
  Order all{};                 // if it keeps no order: all commands
};

// An event that a command of the program was given.
struct KnownEvent {
  Order order;
  cl_uint references = 1;  // of the program
};

struct Objects {
  std::mutex mutex;
  std::unordered_map<cl_event, KnownEvent> events;
  std::unordered_map<cl_mem, Buffer> buffers;
  std::unordered_map<cl_kernel, std::shared_ptr<Kernel>> kernels;
  std::unordered_map<cl_program, std::shared_ptr<Program>> programs;
  std::unordered_map<cl_command_queue, std::shared_ptr<Queue>> queues;
  std::unordered_map<cl_context, std::shared_ptr<Context>> contexts;
  std::map<std::uintptr_t, SharedMemory> shared;  // by where it begins
  std::uint64_t launches = 0, commands = 0;
  std::uint32_t queue_count = 0, storage_count = 0;

  // Objects to be destroyed after the mutex is released: see HeldEvent.
  std::vector<std::shared_ptr<void>> dropped;
  void destroy_dropped();  // called without it

  // All of these are called with the mutex held.
  Buffer* buffer(const void* handle);
  // The shared memory that a pointer points into, and how many bytes lie before the pointer.
  struct InShared {
    cl_mem buffer = nullptr;  // null: the layer does not know the memory
    std::uint64_t offset = 0;
  };
  InShared shared_at(const void* pointer) const;
  std::shared_ptr<Queue> queue(cl_command_queue handle);
  std::shared_ptr<Context> context(cl_context handle);
  std::shared_ptr<Kernel> kernel(cl_kernel handle);
  void add_buffer(cl_mem memory, cl_mem_flags flags, std::uint64_t bytes, bool is_defined);
  // Content that nobody measured: of the host, or of a launch that was not wanted.
  void wrote(Buffer& buffer, std::uint64_t first, std::uint64_t bytes);
  // Copies the undefined ranges along with the bytes. `from` or `to` may be unknown to the layer.
  void copied(cl_mem from, std::uint64_t from_at, cl_mem to, std::uint64_t to_at, std::uint64_t bytes);
  // A command that the layer does not follow may have written any buffer. Those that it could disturb are not trusted.
  void wrote_anything(cl_command_queue queue);

  // The predecessors of a command that is enqueued on a queue now and waits for these events.
  Order order_before(const Queue& queue, cl_uint count, const cl_event* events) const;
  // Notes that a command writes a storage, until its event has completed.
  void writes(Storage& storage, const OnQueue& place, cl_event event);
  void forget_completed(std::vector<std::shared_ptr<OpenWriter>>& writers);
  void forget_buffer(cl_mem memory);
  // Numbers a command that has been enqueued. `before` is order_before() from before that. `event`: its event, or null.
  CommandNumber enqueued(Queue& queue, Order before, cl_event event, bool is_barrier = false);
};

// Never destroyed: driver threads may call in during exit.
struct Layer {
  Settings settings;
  Tally* tally = nullptr;
  pid_t process = process_id();
  std::atomic<bool> is_open{false};
  Objects objects;

  // Not in a forked child, nor once the process ends.
  bool is_active() const { return is_open.load(std::memory_order_relaxed) && process_id() == process; }
};
Layer& layer();

// Fills the slots that this layer serves.
void fill_objects(cl_icd_dispatch& table);
void fill_programs(cl_icd_dispatch& table);
void fill_writes(cl_icd_dispatch& table);
void fill_shared(cl_icd_dispatch& table);
void fill_extensions(cl_icd_dispatch& table);
void fill_launches(cl_icd_dispatch& table);
void follow_order(cl_icd_dispatch& table);  // the last: it stands in front of the others

// The reader of a queue's context and device, opened if necessary; null where it cannot be. Not with the mutex held.
Reader* reader_of(const Queue& queue);

// Notes that an argument is a pointer, or one into memory that the layer does not know. Not with the mutex held.
void set_pointer(cl_kernel kernel, cl_uint index, const void* pointer);
void set_unknown_pointer(cl_kernel kernel, cl_uint index, bool is_there);

// Begins to follow a queue that was not seen being made. Not with the mutex held.
void adopt_queue(cl_command_queue handle);

// Finds what a kernel's arguments are, once; their dtypes only if they are wanted. Not with the mutex held.
void find_types(cl_kernel handle, Kernel& kernel, const Queue& queue, bool with_dtypes);

// Runs the layer's code inside a call of the program. Exceptions are dropped.
template <typename Code>
void guarded(const Code& code) noexcept try {
  code();
} catch (...) {
}

}  // namespace tensorstat::attach
