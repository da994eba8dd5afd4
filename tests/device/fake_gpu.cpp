// A driver of a GPU without one: libcuda.so.1 or, with FAKE_ROCM, libamdhip64.so.6. Device memory is a mapping that
// nobody may touch; its content is elsewhere. Streams do their work when somebody waits for them or advances them, and
// not before. Captured work runs in replays. An upload from pinned memory reads it then, too. The destination of a copy
// is spoilt when the copy is enqueued. What a real driver refuses is refused. A call that has to fail does nothing,
// except that what it gives back is given back, as by a driver that reports an earlier error. CUDA's double also
// launches: a module is a text that names a dtype and needs, and its kernel folds each slice with the reference lift.
// The functions fake_gpu_... are for the tests.
#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#ifndef FAKE_ROCM
#include <array>
#include <bit>
#include <cstdio>
#include <span>
#include <string>

#include "kernels-cl/program/definition.hpp"
#include "precision/partial.h"
#include "stats/core/engine/accumulator_layout.hpp"
#include "stats/core/engine/pair_layout.hpp"
#include "tests/support/planted_ptx.hpp"
#endif

#ifdef FAKE_ROCM
#define CALL(cuda, rocm) rocm
#else
#define CALL(cuda, rocm) cuda
#endif

namespace {

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
  bool is_blocking = true, is_callers = true, is_capturing = false;
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
State& state() {
  static State& all = *new State;  // outlives the test's own objects
  return all;
}
thread_local void* current = nullptr;
thread_local int mode = kGlobalMode;

// Counts a call. Not kSuccess if it is the one that has to fail.
int counted() {
  State& all = state();
  ++all.calls;
  const bool fails =
      all.fails_at != 0 && (all.fails_from_then_on ? all.calls >= all.fails_at : all.calls == all.fails_at);
  return fails ? kIllegalAddress : kSuccess;
}

// Of the nodes that wait for nothing more, the latest goes first: a missing edge is noticed.
void replay(const Graph& graph) {
  std::vector<bool> is_done(graph.nodes.size(), false);
  for (std::size_t left = graph.nodes.size(); left != 0; --left) {
    std::size_t next = 0;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const auto is_over = [&](std::size_t each) { return bool(is_done[each]); };
      if (!is_done[i] && std::ranges::all_of(graph.nodes[i].behind, is_over)) next = i;
    }
    is_done[next] = true;
    graph.nodes[next].work();
  }
}

bool any_capture() {
  for (const auto& each : state().streams) {
    if (each->is_capturing || each->graph != nullptr) return true;
  }
  return false;
}

// What no thread may call while another captures, unless its mode is relaxed.
void unsafe() {
  if (any_capture() && mode != kRelaxedMode) state().has_broken_a_capture = true;
}

// Counts a call of this thread that waits for the device, or that a driver may make wait.
thread_local long waits_here = 0;
void waits() { ++waits_here; }

bool overlap(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes) {
  const auto first = reinterpret_cast<std::uintptr_t>(a), second = reinterpret_cast<std::uintptr_t>(b);
  return first < second + b_bytes && second < first + a_bytes;
}

// Host memory is about to change: uploads whose command came first have read it by then.
void take_uploads(const void* from, std::size_t bytes) {
  std::erase_if(state().uploads, [&](const std::weak_ptr<Upload>& each) {
    const auto upload = each.lock();
    if (upload && overlap(upload->from, upload->bytes, from, bytes)) upload->take();
    return !upload || upload->is_taken;
  });
}

bool is_pinned(const void* host) {
  return std::ranges::any_of(state().pinned,
                             [&](const auto& each) { return overlap(each.first, each.second, host, 1); });
}

Stream* stream_of(void* handle) {
  if (reinterpret_cast<std::uintptr_t>(handle) <= 1) {
    for (Primary& each : state().primaries) {
      if (current == &each) return &each.default_stream;
    }
    return nullptr;
  }
  for (const auto& each : state().streams) {
    if (each.get() == handle) return each.get();
  }
  return nullptr;
}

bool is_default(void* handle) { return reinterpret_cast<std::uintptr_t>(handle) <= 1; }

// Puts a command on a stream. The default stream waits for all streams that block, and they wait for it.
void put(Stream& stream, std::function<void()> work) {
  State& all = state();
  if (stream.graph != nullptr) {
    stream.graph->nodes.push_back({std::move(work), stream.behind});
    stream.behind = {stream.graph->nodes.size() - 1};
    return;
  }
  all.has_broken_a_capture |= stream.is_capturing;
  const auto wait_for = [&stream](Stream& other) {
    stream.work.push_back([from = &other, end = other.work.size()] { from->run_to(end); });
  };
  Stream& of_device = all.primaries[stream.device].default_stream;
  if (&stream == &of_device) {
    for (const auto& each : all.streams) {
      if (!each->is_blocking || each->device != stream.device) continue;
      all.has_broken_a_capture |= each->is_capturing;
      wait_for(*each);
    }
  } else if (stream.is_blocking) {
    wait_for(of_device);
  }
  stream.work.push_back(std::move(work));
}

bool is_current(int device) { return current == &state().primaries[device]; }

template <typename Object>
bool erase(std::set<std::unique_ptr<Object>>& all, void* handle) {
  return std::erase_if(all, [&](const auto& each) { return each.get() == handle; }) == 1;
}

std::pair<const std::uint64_t, Memory>* memory_at(std::uint64_t pointer, std::size_t bytes) {
  auto after = state().memory.upper_bound(pointer);
  if (after == state().memory.begin()) return nullptr;
  auto& found = *--after;
  const std::uint64_t offset = pointer - found.first, size = found.second.content.size();
  return offset < size && bytes <= size - offset ? &found : nullptr;
}

#ifndef FAKE_ROCM
std::byte* at(std::uint64_t pointer, std::size_t bytes) {
  auto* const memory = memory_at(pointer, bytes);
  return memory == nullptr ? nullptr : memory->second.content.data() + (pointer - memory->first);
}

// As a kernel does, with the definition of a fold. Slices outside of memory are left out.
void fold_slice(const Module& module, std::uint64_t group, std::uint64_t source, std::uint64_t workspace,
                std::uint64_t slices_at, std::uint64_t partials_at) {
  using namespace tensorstat;
  const auto dtype = static_cast<Dtype>(module.dtype);
  const std::size_t words = partial_words(dtype, module.needs);
  std::array<std::uint64_t, 5> slice{};  // first byte, count, partial, bins, casts
  const std::byte* const from = at(workspace + slices_at + group * sizeof slice, sizeof slice);
  if (from == nullptr) return;
  std::memcpy(slice.data(), from, sizeof slice);
  const std::size_t bytes = bytes_of(dtype, slice[1]);
  const std::byte* const elements = at(source + slice[0], bytes);
  std::byte* const to = at(workspace + partials_at + slice[2] * words * 8, words * 8);
  if (elements == nullptr || to == nullptr) return;
  std::vector<std::int64_t> lifted(words), result(words);
  clear(dtype, lifted);
  cl_engine::lift_all(dtype, module.needs, {elements, bytes}, slice[1], lifted);
  if (state().is_wrong) ++lifted[PARTIAL_FIELDS];
  carry(dtype, lifted);
  std::memcpy(result.data(), to, words * 8);
  merge(dtype, result, lifted);
  std::memcpy(to, result.data(), words * 8);
}

// The same for two tensors. `values`: the workspace, slices_at, partials_at, rtol, atol, and whether the scale is the
// greater of the two.
void compare_slice(const Module& module, std::uint64_t group, std::span<const std::uint64_t> values) {
  using namespace tensorstat;
  const auto a = static_cast<Dtype>(module.dtype), b = static_cast<Dtype>(module.needs);
  const PairTolerance tolerance{std::bit_cast<double>(values[3]), std::bit_cast<double>(values[4]),
                                values[5] != 0 ? PairTolerance::Scale::kGreater : PairTolerance::Scale::kB};
  std::array<std::uint64_t, 5> slice{};  // first byte of each, count, first element, partial
  const std::byte* const from = at(values[0] + values[1] + group * sizeof slice, sizeof slice);
  if (from == nullptr) return;
  std::memcpy(slice.data(), from, sizeof slice);
  const std::size_t bytes_a = bytes_of(a, slice[2]), bytes_b = bytes_of(b, slice[2]);
  const std::byte *const of_a = at(slice[0], bytes_a), *const of_b = at(slice[1], bytes_b);
  PairPartial lifted(a, b, tolerance), found = lifted;
  const std::size_t bytes = lifted.words().size() * 8;
  std::byte* const to = at(values[0] + values[2] + slice[4] * bytes, bytes);
  if (of_a == nullptr || of_b == nullptr || to == nullptr) return;
  cl_engine::lift_pairs(a, {of_a, bytes_a}, b, {of_b, bytes_b}, tolerance, slice[3], lifted.words());
  if (state().is_wrong) ++lifted.words()[PAIR_FIELDS];
  merge(pair_layout(a, b), found.words(), lifted.words());
  std::memcpy(to, found.words().data(), bytes);
}
#endif

}  // namespace

#define ENTER()                              \
  const std::lock_guard lock(state().mutex); \
  if (const int code = counted(); code != kSuccess) return code

extern "C" {

int CALL(cuGetErrorName, hipDrvGetErrorName)(int code, const char** name) {
  ENTER();
  *name = code == kIllegalAddress ? "FAKE_ERROR_ILLEGAL_ADDRESS"
          : code == kInvalidValue ? "FAKE_ERROR_INVALID_VALUE"
                                  : nullptr;
  return *name == nullptr ? kInvalidValue : kSuccess;
}
int CALL(cuPointerGetAttribute, hipPointerGetAttribute)(void* to, int attribute, std::uint64_t pointer) {
  ENTER();
  const auto* found = memory_at(pointer, 1);
  if (found == nullptr) return kInvalidValue;
  if (attribute == 9) {
    std::memcpy(to, &found->second.device, sizeof(int));
    return kSuccess;
  }
#ifdef FAKE_ROCM
  return kInvalidValue;
#else
  if (attribute != 1) return kInvalidValue;
  std::memcpy(to, &found->second.context, sizeof(void*));
  return kSuccess;
#endif
}
int CALL(cuDeviceGet, hipDeviceGet)(int* device, int ordinal) {
  ENTER();
  *device = kFirstDevice + ordinal;
  return ordinal >= 0 && ordinal < kDevices ? kSuccess : kInvalidValue;
}
int CALL(cuDevicePrimaryCtxRetain, hipDevicePrimaryCtxRetain)(void** context, int device) {
  ENTER();
  if (device < kFirstDevice || device >= kFirstDevice + kDevices) return kInvalidValue;
  Primary& primary = state().primaries[device - kFirstDevice];
  ++primary.retained;
  *context = &primary;
  return kSuccess;
}
int CALL(cuDevicePrimaryCtxRelease_v2, hipDevicePrimaryCtxRelease)(int device) {
  const std::lock_guard lock(state().mutex);
  --state().primaries[device - kFirstDevice].retained;
  return counted();
}
int CALL(cuCtxGetCurrent, hipCtxGetCurrent)(void** context) {
  ENTER();
  *context = current;
  return kSuccess;
}
int CALL(cuCtxSetCurrent, hipCtxSetCurrent)(void* context) {
  const std::lock_guard lock(state().mutex);
  current = context;
  return counted();
}
int CALL(cuThreadExchangeStreamCaptureMode, hipThreadExchangeStreamCaptureMode)(int* exchanged) {
  const std::lock_guard lock(state().mutex);
  const int code = counted();
  if (code == kSuccess || *exchanged != kRelaxedMode) std::swap(mode, *exchanged);
  return code;
}
int CALL(cuStreamCreate, hipStreamCreateWithFlags)(void** stream, unsigned flags) {
  ENTER();
  for (int device = 0; device < kDevices; ++device) {
    if (!is_current(device)) continue;
    auto made = std::make_unique<Stream>(Stream{.device = device, .is_blocking = flags != 1, .is_callers = false});
    *stream = made.get();
    state().streams.insert(std::move(made));
    return kSuccess;
  }
  return kInvalidContext;
}
int CALL(cuStreamDestroy_v2, hipStreamDestroy)(void* stream) {
  const std::lock_guard lock(state().mutex);
  const int code = counted();
  const auto found = std::ranges::find(state().streams, stream, [](const auto& each) -> void* { return each.get(); });
  if (found == state().streams.end()) return kInvalidHandle;
  state().destroyed_streams.push_back(std::move(state().streams.extract(found).value()));
  return code;
}
int CALL(cuStreamIsCapturing, hipStreamIsCapturing)(void* stream, int* is_capturing) {
  ENTER();
  const Stream* found = stream_of(stream);
  if (found == nullptr) return kInvalidHandle;
  if (is_default(stream)) {
    for (const auto& each : state().streams) {
      if (each->is_capturing && each->is_blocking && each->device == found->device) return kCaptureImplicit;
    }
  }
  *is_capturing = found->is_capturing || found->graph != nullptr;
  return kSuccess;
}
int CALL(cuStreamWaitEvent, hipStreamWaitEvent)(void* stream, void* event, unsigned flags) {
  ENTER();
  Stream* const found = stream_of(stream);
  for (const auto& each : state().events) {
    if (each.get() != event) continue;
    if (found == nullptr || flags != 0 || each->stream == nullptr) return kInvalidHandle;
    if (found->graph != each->graph && (found->graph != nullptr || !found->is_callers)) {
      state().has_broken_a_capture = true;
      return kCaptureIsolation;
    }
    if (each->graph != nullptr) {  // the stream joins the capture
      found->graph = each->graph;
      found->behind.insert(found->behind.end(), each->behind.begin(), each->behind.end());
      return kSuccess;
    }
    put(*found, [from = each->stream, end = each->end] { from->run_to(end); });
    return kSuccess;
  }
  return kInvalidHandle;
}
int CALL(cuStreamSynchronize, hipStreamSynchronize)(void* stream) {
  ENTER();
  waits();
  Stream* const found = stream_of(stream);
  if (found == nullptr) return kInvalidHandle;
  if (found->is_capturing || found->graph != nullptr) {
    state().has_broken_a_capture = true;
    return kCaptureUnsupported;
  }
  found->run_to(found->work.size());
  return kSuccess;
}
int CALL(cuEventCreate, hipEventCreateWithFlags)(void** event, unsigned flags) {
  ENTER();
  for (int device = 0; device < kDevices; ++device) {
    if (!is_current(device) || (flags & ~1u) != 2) continue;
    auto made = std::make_unique<Event>(Event{.device = device});
    *event = made.get();
    state().events.insert(std::move(made));
    return kSuccess;
  }
  return kInvalidContext;
}
int CALL(cuEventDestroy_v2, hipEventDestroy)(void* event) {
  const std::lock_guard lock(state().mutex);
  const bool was_there = erase(state().events, event);
  const int code = counted();
  return was_there ? code : kInvalidHandle;
}
int CALL(cuEventRecord, hipEventRecord)(void* event, void* stream) {
  ENTER();
  Stream* const found = stream_of(stream);
  if (found == nullptr) return kInvalidHandle;
  if (found->graph == nullptr) put(*found, [] {});
  for (const auto& each : state().events) {
    if (each.get() != event || each->device != found->device) continue;
    each->graph = found->graph;
    each->behind = found->behind;
    each->stream = found;
    each->end = found->work.size();
    return kSuccess;
  }
  return kInvalidHandle;
}
int CALL(cuMemHostAlloc, hipHostMalloc)(void** memory, std::size_t bytes, unsigned flags) {
  ENTER();
  unsafe();
  waits();
  if (flags != 0 || current == nullptr) return kInvalidContext;
  *memory = ::operator new(bytes);
  state().pinned[*memory] = bytes;
  return kSuccess;
}
int CALL(cuMemFreeHost, hipHostFree)(void* memory) {
  const std::lock_guard lock(state().mutex);
  unsafe();
  waits();
  if (const auto found = state().pinned.find(memory); found != state().pinned.end())
    take_uploads(memory, found->second);
  const bool was_there = state().pinned.erase(memory) == 1;
  if (was_there) ::operator delete(memory);
  const int code = counted();
  return was_there ? code : kInvalidValue;
}
int CALL(cuMemcpyDtoHAsync_v2, hipMemcpyDtoHAsync)(void* to, std::uint64_t from, std::size_t bytes, void* stream) {
  ENTER();
  Stream* const found = stream_of(stream);
  auto* const source = memory_at(from, bytes);
  if (found == nullptr || !is_current(found->device)) return kInvalidHandle;
  if (source == nullptr || bytes == 0 || source->second.device != found->device) return kInvalidValue;
  state().largest_copy = std::max(state().largest_copy, bytes);
  take_uploads(to, bytes);
  std::memset(to, 0xa5, bytes);
  // Pinned memory that was freed since is not written: only after a failed wait it may be.
  put(*found, [=, pinned = is_pinned(to)] {
    auto* const memory = memory_at(from, bytes);
    if (memory != nullptr && (!pinned || is_pinned(to))) {
      std::memcpy(to, memory->second.content.data() + (from - memory->first), bytes);
    }
  });
  return kSuccess;
}

#ifndef FAKE_ROCM
int cuDriverGetVersion(int* version) {
  ENTER();
  *version = 13000;
  return kSuccess;
}
int cuDeviceGetName(char* name, int bytes, int device) {
  ENTER();
  if (device < kFirstDevice || device >= kFirstDevice + kDevices) return kInvalidValue;
  std::snprintf(name, static_cast<std::size_t>(bytes), "Fake GPU");
  return kSuccess;
}
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  ENTER();
  const std::map<int, int> known = {{16, 4}, {75, 9}, {76, 0}};
  if (device < kFirstDevice || device >= kFirstDevice + kDevices || !known.contains(attribute)) return kInvalidValue;
  *value = known.at(attribute);
  return kSuccess;
}
int cuModuleLoadData(void** module, const void* image) {
  ENTER();
  waits();
  if (current == nullptr) return kInvalidContext;
  auto made = std::make_unique<Module>();
  const auto* const text = static_cast<const char*>(image);
  made->is_of_pairs = std::sscanf(text, "pair %u %u", &made->dtype, &made->needs) == 2;
  if (!made->is_of_pairs && std::sscanf(text, "fold %u %u", &made->dtype, &made->needs) != 2) return kInvalidPtx;
  *module = made.get();
  state().modules.insert(std::move(made));
  return kSuccess;
}
int cuModuleUnload(void* module) {
  const std::lock_guard lock(state().mutex);
  const bool was_there = erase(state().modules, module);
  const int code = counted();
  return was_there ? code : kInvalidHandle;
}
int cuModuleGetFunction(void** function, void* module, const char* name) {
  ENTER();
  *function = module;
  return std::strcmp(name, "fold") == 0 ? kSuccess : kInvalidValue;
}
int cuMemAlloc_v2(std::uint64_t* pointer, std::size_t bytes) {
  ENTER();
  unsafe();
  waits();
  if (bytes > state().most_memory) return kOutOfMemory;
  for (int device = 0; device < kDevices; ++device) {
    if (!is_current(device)) continue;
    void* const mapped = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    *pointer = reinterpret_cast<std::uintptr_t>(mapped);
    state().memory[*pointer] = {device, std::vector<std::byte>(bytes, std::byte{0xa5}), current, false};
    return kSuccess;
  }
  return kInvalidContext;
}
int cuMemGetAddressRange_v2(std::uint64_t* base, std::size_t* bytes, std::uint64_t pointer) {
  ENTER();
  const auto* const found = memory_at(pointer, 1);
  if (found == nullptr) return kInvalidValue;
  *base = found->first;
  *bytes = found->second.content.size();
  return kSuccess;
}
int cuMemFree_v2(std::uint64_t pointer) {
  const std::lock_guard lock(state().mutex);
  unsafe();
  waits();
  const auto found = state().memory.find(pointer);
  if (found == state().memory.end() || found->second.is_callers) return kInvalidValue;
  ::munmap(reinterpret_cast<void*>(pointer), found->second.content.size());
  state().memory.erase(found);
  return counted();
}
int cuMemcpyHtoDAsync_v2(std::uint64_t to, const void* from, std::size_t bytes, void* stream) {
  ENTER();
  Stream* const found = stream_of(stream);
  auto* const memory = memory_at(to, bytes);
  if (found == nullptr || !is_current(found->device)) return kInvalidHandle;
  if (memory == nullptr || bytes == 0 || memory->second.device != found->device) return kInvalidValue;
  if (found->graph != nullptr) {  // each replay reads it
    put(*found, [=, pinned = is_pinned(from)] {
      auto* const there = memory_at(to, bytes);
      if (there == nullptr || !pinned || !is_pinned(from)) {
        state().has_broken_a_capture = true;
        return;
      }
      std::memcpy(there->second.content.data() + (to - there->first), from, bytes);
    });
    return kSuccess;
  }
  auto upload = std::make_shared<Upload>(Upload{static_cast<const std::byte*>(from), bytes});
  if (!is_pinned(from)) upload->take();
  state().uploads.push_back(upload);
  put(*found, [=] {
    upload->take();
    if (auto* const there = memory_at(to, bytes); there != nullptr) {
      std::memcpy(there->second.content.data() + (to - there->first), upload->taken.data(), bytes);
    }
  });
  return kSuccess;
}
int cuStreamGetCaptureInfo(void* stream, int* status, std::uint64_t* number) {
  ENTER();
  const Stream* found = stream_of(stream);
  if (found == nullptr) return kInvalidHandle;
  if (is_default(stream)) {
    for (const auto& each : state().streams) {
      const bool is_captured = each->is_capturing || each->graph != nullptr;
      if (is_captured && each->is_blocking && each->device == found->device) return kCaptureImplicit;
    }
  }
  *status = found->is_capturing || found->graph != nullptr ? 1 : 0;
  *number = found->graph != nullptr ? found->graph->number : 0;
  return kSuccess;
}
int cuEventQuery(void* event) {
  ENTER();
  for (const auto& each : state().events) {
    if (each.get() != event) continue;
    state().has_broken_a_capture |= each->graph != nullptr;
    return each->stream == nullptr || each->stream->done >= each->end ? kSuccess : kNotReady;
  }
  return kInvalidHandle;
}
// An event that was never recorded is no error of the driver's, but one of the caller's.
int cuEventSynchronize(void* event) {
  ENTER();
  waits();
  for (const auto& each : state().events) {
    if (each.get() != event) continue;
    if (each->stream == nullptr) return kInvalidHandle;
    state().has_broken_a_capture |= each->graph != nullptr;
    each->stream->run_to(each->end);
    return kSuccess;
  }
  return kInvalidHandle;
}
int cuLaunchKernel(void* function, unsigned groups, unsigned y, unsigned z, unsigned lanes, unsigned lanes_y,
                   unsigned lanes_z, unsigned shared_bytes, void* stream, void** arguments, void** extra) {
  ENTER();
  Stream* const found = stream_of(stream);
  const bool is_sound = groups != 0 && y == 1 && z == 1 && lanes == 256 && lanes_y == 1 && lanes_z == 1 &&
                        shared_bytes == 0 && arguments != nullptr && extra == nullptr;
  if (found == nullptr || !is_current(found->device)) return kInvalidHandle;
  if (!is_sound) return kInvalidValue;
  const Module module = *static_cast<const Module*>(function);
  std::vector<std::uint64_t> values(module.is_of_pairs ? 8 : 4);
  for (std::size_t i = 0; i < values.size(); ++i) std::memcpy(&values[i], arguments[i], sizeof values[i]);
  if (module.is_of_pairs && (values[0] != 0 || values[1] != 0)) return kInvalidValue;  // slices have addresses
  const long number = ++state().launches;
  if (number == state().loses_launch) return kSuccess;
  put(*found, [=, is_captured = found->graph != nullptr] {
    const std::uint64_t workspace = values[module.is_of_pairs ? 2 : 1];
    if (is_captured && memory_at(workspace, 1) == nullptr) state().has_broken_a_capture = true;  // it was freed
    for (std::uint64_t group = 0; group < groups; ++group) {
      if (module.is_of_pairs) {
        compare_slice(module, group, std::span(values).subspan(2));
      } else {
        fold_slice(module, group, values[0], values[1], values[2], values[3]);
      }
    }
  });
  return kSuccess;
}
long fake_gpu_launches() { return state().launches; }
// The nth launch from now on succeeds, and its kernel never runs; 0: none.
void fake_gpu_lose_launch(long nth) { state().loses_launch = nth == 0 ? 0 : state().launches + nth; }
// The largest allocation that succeeds.
void fake_gpu_most_memory(std::size_t bytes) { state().most_memory = bytes; }
// One bit of each fold is wrong.
void fake_gpu_is_wrong(int is_wrong) { state().is_wrong = is_wrong != 0; }
// The kernel of a dtype and of statistics, such as "max,nan count", in the cache on disk. 0: there are none of that
// name.
int fake_gpu_plant(const char* dtype, const char* statistics) {
  const auto found = tensorstat::dtype_from(dtype);
  const auto categories = tensorstat::categories_from(statistics);
  if (found && categories) tensorstat::test::plant(*found, *categories);
  return found && categories ? 1 : 0;
}
#endif

// Device memory with this content; in a context that is not primary if `is_foreign`.
std::uint64_t fake_gpu_allocate(int device, const void* content, std::size_t bytes, int is_foreign) {
  const std::lock_guard lock(state().mutex);
  void* const mapped = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return 0;
  const auto* const first = static_cast<const std::byte*>(content);
  const auto pointer = reinterpret_cast<std::uintptr_t>(mapped);
  void* const context = is_foreign != 0 ? static_cast<void*>(&state().other_context) : &state().primaries[device];
  state().memory[pointer] = {device, {first, first + bytes}, context};
  state().primaries[device].default_stream.device = device;
  return pointer;
}
void fake_gpu_free(std::uint64_t pointer) {
  const std::lock_guard lock(state().mutex);
  const auto found = state().memory.find(pointer);
  ::munmap(reinterpret_cast<void*>(pointer), found->second.content.size());
  state().memory.erase(found);
}
// A stream of the caller's. nullptr is the default one.
void* fake_gpu_stream(int device, int is_blocking) {
  const std::lock_guard lock(state().mutex);
  return state()
      .streams.insert(std::make_unique<Stream>(Stream{.device = device, .is_blocking = is_blocking != 0}))
      .first->get();
}
// A kernel that writes memory, when the stream comes to it.
void fake_gpu_write(int device, void* stream, std::uint64_t pointer, const void* content, std::size_t bytes) {
  const std::lock_guard lock(state().mutex);
  Stream& found = stream == nullptr ? state().primaries[device].default_stream : *static_cast<Stream*>(stream);
  const auto* const first = static_cast<const std::byte*>(content);
  put(found, [pointer, written = std::vector<std::byte>(first, first + bytes)] {
    auto* const memory = memory_at(pointer, written.size());
    if (memory == nullptr) return;  // it was freed behind a failed call
    std::memcpy(memory->second.content.data() + (pointer - memory->first), written.data(), written.size());
  });
}
// The nth call from now on fails, or all from it on; 0: none.
void fake_gpu_fail(long nth, int from_then_on) {
  const std::lock_guard lock(state().mutex);
  state().fails_at = nth == 0 ? 0 : state().calls + nth;
  state().fails_from_then_on = from_then_on != 0;
}
long fake_gpu_calls() {
  const std::lock_guard lock(state().mutex);
  return state().calls;
}
// The calls of this thread so far that wait for the device, or that a driver may make wait: allocations and modules are
// among them.
long fake_gpu_waits() { return waits_here; }
// A stream does its next `most` commands. nullptr is the default one.
void fake_gpu_advance(int device, void* stream, std::size_t most) {
  const std::lock_guard lock(state().mutex);
  Stream& found = stream == nullptr ? state().primaries[device].default_stream : *static_cast<Stream*>(stream);
  found.run_to(std::min(found.done + std::min(most, found.work.size()), found.work.size()));
}
// The contexts, streams, events and pinned windows that were not given back.
long fake_gpu_held() {
  const std::lock_guard lock(state().mutex);
  long held = static_cast<long>(state().events.size() + state().pinned.size() + state().modules.size());
  for (const auto& [pointer, each] : state().memory) held += each.is_callers ? 0 : 1;
  for (const auto& each : state().streams) held += each->is_callers ? 0 : 1;
  for (const Primary& each : state().primaries) held += each.retained;
  return held;
}
std::size_t fake_gpu_largest_copy() {
  const std::lock_guard lock(state().mutex);
  return state().largest_copy;
}
// A stream in a capture that nothing may be added to.
void fake_gpu_capture(void* stream, int on) { static_cast<Stream*>(stream)->is_capturing = on != 0; }
// Captures this stream into a graph, or with a graph, into this one.
void* fake_gpu_begin_capture(void* stream, void* graph) {
  const std::lock_guard lock(state().mutex);
  auto& graphs = state().graphs;
  if (graph == nullptr) {
    graphs.push_back(std::make_unique<Graph>(Graph{.number = graphs.size() + 1}));
    graph = graphs.back().get();
  }
  static_cast<Stream*>(stream)->graph = static_cast<Graph*>(graph);
  return graph;
}
void fake_gpu_end_capture(void* graph) {
  const std::lock_guard lock(state().mutex);
  for (const auto& each : state().streams) {
    if (each->graph != graph) continue;
    each->graph = nullptr;
    each->behind.clear();
  }
}
void fake_gpu_replay(void* graph, void* stream) {
  const std::lock_guard lock(state().mutex);
  put(*static_cast<Stream*>(stream), [made = static_cast<Graph*>(graph)] { replay(*made); });
}
// Since the last call.
int fake_gpu_has_broken_a_capture() { return std::exchange(state().has_broken_a_capture, false); }
void* fake_gpu_current() { return current; }
void fake_gpu_make_current(void* context) { current = context; }
int fake_gpu_capture_mode() { return mode; }
}
