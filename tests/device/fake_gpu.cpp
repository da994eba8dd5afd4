// A driver of a GPU without one: libcuda.so.1 or, with FAKE_ROCM, libamdhip64.so.6. Device memory is a mapping that
// nobody may touch; its content is elsewhere. Streams do their work when somebody waits for them or advances them, and
// not before. Captured work runs in replays. An upload from pinned memory reads it then, too. The destination of a copy
// is spoilt when the copy is enqueued. What a real driver refuses is refused. A call that has to fail does nothing,
// except that what it gives back is given back, as by a driver that reports an earlier error. The functions
// fake_gpu_... are for the tests.
#include "tests/device/fake_gpu.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

namespace fake_gpu {
namespace {

thread_local void* current = nullptr;
thread_local long waits_here = 0;
constexpr std::uintptr_t kOfThread = 2;  // the handle of each thread's default stream

Stream& stream_of_thread(int device) {
  thread_local Stream* streams[kDevices] = {};
  if (streams[device] == nullptr) {
    streams[device] = state().streams.insert(std::make_unique<Stream>(Stream{.device = device})).first->get();
  }
  return *streams[device];
}

}  // namespace

State& state() {
  static State& all = *new State;  // outlives the test's own objects
  return all;
}

int counted() {
  State& all = state();
  ++all.calls;
  const bool fails =
      all.fails_at != 0 && (all.fails_from_then_on ? all.calls >= all.fails_at : all.calls == all.fails_at);
  return fails ? kIllegalAddress : kSuccess;
}

void waits() { ++waits_here; }

void* current_context() { return current; }

Stream* stream_of(void* handle) {
  if (reinterpret_cast<std::uintptr_t>(handle) <= kOfThread) {
    for (int device = 0; device < kDevices; ++device) {
      if (is_current(device)) return &stream_on(device, handle);
    }
    return nullptr;
  }
  for (const auto& each : state().streams) {
    if (each.get() == handle) return each.get();
  }
  return nullptr;
}

bool is_default(void* handle) { return reinterpret_cast<std::uintptr_t>(handle) <= 1; }

Stream& stream_on(int device, void* handle) {
  if (is_default(handle)) return state().primaries[device].default_stream;
  const bool is_of_thread = reinterpret_cast<std::uintptr_t>(handle) == kOfThread;
  return is_of_thread ? stream_of_thread(device) : *static_cast<Stream*>(handle);
}

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

}  // namespace fake_gpu

using namespace fake_gpu;

extern "C" {

int CALL(cuGetErrorName, hipDrvGetErrorName)(int code, const char** name) {
  ENTER();
  *name = code == kIllegalAddress ? "FAKE_ERROR_ILLEGAL_ADDRESS"
          : code == kInvalidValue ? "FAKE_ERROR_INVALID_VALUE"
                                  : nullptr;
  return *name == nullptr ? kInvalidValue : kSuccess;
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
#ifndef FAKE_ROCM
int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* is_active) {
  ENTER();
  const Primary& primary = state().primaries[device - kFirstDevice];
  *flags = 0;
  *is_active = primary.retained != 0 || std::ranges::any_of(state().memory, [&](const auto& each) {
                 return each.second.device == device - kFirstDevice && each.second.context != &state().other_context;
               });
  return kSuccess;
}
#endif
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
  const auto entry = std::ranges::find(state().streams, stream, [](const auto& each) -> void* { return each.get(); });
  if (entry == state().streams.end()) return kInvalidHandle;
  state().destroyed_streams.push_back(std::move(state().streams.extract(entry).value()));
  return code;
}
int CALL(cuStreamWaitEvent, hipStreamWaitEvent)(void* stream, void* event, unsigned flags) {
  ENTER();
  Stream* const target = stream_of(stream);
  for (const auto& each : state().events) {
    if (each.get() != event) continue;
    if (target == nullptr || flags != 0 || each->stream == nullptr) return kInvalidHandle;
    if (target->graph != each->graph && (target->graph != nullptr || !target->is_callers)) {
      state().has_broken_a_capture = true;
      return kCaptureIsolation;
    }
    if (each->graph != nullptr) {  // the stream joins the capture
      target->graph = each->graph;
      target->behind.insert(target->behind.end(), each->behind.begin(), each->behind.end());
      return kSuccess;
    }
    put(*target, [from = each->stream, end = each->end] { from->run_to(end); });
    return kSuccess;
  }
  return kInvalidHandle;
}
int CALL(cuStreamSynchronize, hipStreamSynchronize)(void* stream) {
  ENTER();
  waits();
  Stream* const target = stream_of(stream);
  if (target == nullptr) return kInvalidHandle;
  if (target->is_capturing || target->graph != nullptr) {
    state().has_broken_a_capture = true;
    return kCaptureUnsupported;
  }
  target->run_to(target->work.size());
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
  Stream* const target = stream_of(stream);
  if (target == nullptr) return kInvalidHandle;
  if (target->graph == nullptr) put(*target, [] {});
  for (const auto& each : state().events) {
    if (each.get() != event || each->device != target->device) continue;
    each->graph = target->graph;
    each->behind = target->behind;
    each->stream = target;
    each->end = target->work.size();
    return kSuccess;
  }
  return kInvalidHandle;
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
int cuEventQuery(void* event) {
  ENTER();
  unsafe();
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
#endif

// A stream of the caller's. nullptr is the default one.
void* fake_gpu_stream(int device, int is_blocking) {
  const std::lock_guard lock(state().mutex);
  return state()
      .streams.insert(std::make_unique<Stream>(Stream{.device = device, .is_blocking = is_blocking != 0}))
      .first->get();
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
// A stream does its next `most` commands. nullptr is the default one, and 2 this thread's.
void fake_gpu_advance(int device, void* stream, std::size_t most) {
  const std::lock_guard lock(state().mutex);
  Stream& target = stream_on(device, stream);
  target.run_to(std::min(target.done + std::min(most, target.work.size()), target.work.size()));
}
// The contexts, streams, events and pinned windows that were not given back.
long fake_gpu_held() {
  const std::lock_guard lock(state().mutex);
  long count = static_cast<long>(state().events.size() + state().pinned.size() + state().modules.size());
  for (const auto& [pointer, each] : state().memory) count += each.is_callers ? 0 : 1;
  for (const auto& each : state().streams) count += each->is_callers ? 0 : 1;
  for (const Primary& each : state().primaries) count += each.retained;
  return count;
}
void* fake_gpu_current() { return current; }
void fake_gpu_make_current(void* context) { current = context; }
}
