// The state of the double of a GPU's driver, and what its files share. fake_gpu.cpp has contexts, streams and events,
// fake_gpu_memory.cpp memory, fake_gpu_captures.cpp graphs, fake_gpu_kernels.cpp modules and launches. Compiled for
// each driver. Hidden, and not inline, so that two drivers in one process do not share it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#ifdef FAKE_ROCM
#define CALL(cuda, rocm) rocm
#else
#define CALL(cuda, rocm) cuda
#endif

#pragma GCC visibility push(hidden)
namespace fake_gpu {

constexpr int kSuccess = 0, kInvalidValue = 1, kInvalidContext = 201, kInvalidHandle = 400, kIllegalAddress = 700,
              kOutOfMemory = 2, kInvalidPtx = 218, kNotReady = 600, kCaptureUnsupported = 900, kCaptureIsolation = 905,
              kCaptureImplicit = 906;
constexpr int kDevices = 2, kFirstDevice = 7;  // a device is no ordinal
constexpr int kGlobalMode = 0, kRelaxedMode = 2;

// Work of a graph, and the nodes that it is behind.
struct Node {
  std::function<void()> work;
  std::vector<std::size_t> behind;
};
struct Graph {
  std::uint64_t number = 0;
  std::vector<Node> nodes{};
};
struct Stream {
  int device = 0;
  bool is_blocking = true, is_callers = true, is_capturing = false, is_invalidated = false;
  Graph* graph = nullptr;             // that its work is captured into
  std::vector<std::size_t> behind{};  // there
  std::vector<std::function<void()>> work{};
  std::size_t done = 0;

  void run_to(std::size_t end) {
    while (done < end) std::exchange(work[done++], {})();
  }
};
struct Event {
  int device = 0;
  Stream* stream = nullptr;
  std::size_t end = 0;
  Graph* graph = nullptr;  // that it was captured into
  std::vector<std::size_t> behind{};
};
// The bytes of host memory that a command reads when its stream comes to it.
struct Upload {
  const std::byte* from = nullptr;
  std::size_t bytes = 0;
  bool is_taken = false;
  std::vector<std::byte> taken{};

  void take() {
    if (!std::exchange(is_taken, true)) taken.assign(from, from + bytes);
  }
};
struct Memory {
  int device = 0;
  std::vector<std::byte> content{};
  void* context = nullptr;
  bool is_callers = true;
};
struct Module {
  std::uint32_t dtype = 0, needs = 0;  // of two tensors: their dtypes
  bool is_of_pairs = false;
};
struct Primary {
  int retained = 0;
  Stream default_stream{};
};

struct State {
  std::recursive_mutex mutex;
  Primary primaries[kDevices];
  int other_context = 0;  // its address is a context that is not primary
  std::map<std::uint64_t, Memory> memory;
  std::set<std::unique_ptr<Stream>> streams;
  std::vector<std::unique_ptr<Stream>> destroyed_streams;  // what they held goes on
  std::vector<std::weak_ptr<Upload>> uploads;
  std::set<std::unique_ptr<Event>> events;
  std::vector<std::unique_ptr<Graph>> graphs;
  std::set<std::unique_ptr<Module>> modules;
  std::map<void*, std::size_t> pinned;
  std::size_t largest_copy = 0;
  long calls = 0, fails_at = 0;
  long launches = 0, loses_launch = 0;
  bool fails_from_then_on = false, has_broken_a_capture = false, is_wrong = false;
  std::size_t most_memory = std::size_t{1} << 40;
};
State& state();

// Counts a call. Not kSuccess if it is the one that has to fail.
int counted();
// Counts a call of this thread that waits for the device, or that a driver may make wait.
void waits();
// A call that no thread may make while another captures, unless its mode is relaxed.
void unsafe();

void* current_context();
bool is_current(int device);
// Returns nullptr if there is no such stream. The handles nullptr and 1 name the current context's default stream, and
// 2 names this thread's.
Stream* stream_of(void* handle);
bool is_default(void* handle);
// The same for a handle of a test.
Stream& stream_on(int device, void* handle);
// Puts a command on a stream. The default stream waits for all streams that block, and they wait for it.
void put(Stream& stream, std::function<void()> work);

std::pair<const std::uint64_t, Memory>* memory_at(std::uint64_t pointer, std::size_t bytes);

template <typename Object>
bool erase(std::set<std::unique_ptr<Object>>& all, void* handle) {
  return std::erase_if(all, [&](const auto& each) { return each.get() == handle; }) == 1;
}

}  // namespace fake_gpu
#pragma GCC visibility pop

#define ENTER()                              \
  const std::lock_guard lock(state().mutex); \
  if (const int code = counted(); code != kSuccess) return code
