#include "tests/support/cl_layer/cl_layer.hpp"

#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

namespace {

ClLayer state;
const cl_icd_dispatch* below = nullptr;
cl_icd_dispatch table;

std::mutex mutex;
struct Buffer {
  std::int64_t bytes;
  int references;
  const char* host = nullptr;  // with CL_MEM_USE_HOST_PTR
  std::size_t host_bytes = 0;
  std::int64_t copied_bytes = 0;
};
std::map<cl_mem, Buffer> buffers;

// The memory that a kernel's next launch can read.
struct Reads {
  bool announced_pointers = false, memory = false;
};
std::map<cl_kernel, Reads> reads;

// Events that the held kernels wait for.
std::vector<cl_event> gates;

void let_go() {
  state.hold_kernels = state.hold_builds = false;
  const std::lock_guard lock(mutex);
  for (const cl_event gate : gates) {
    below->clSetUserEventStatus(gate, CL_COMPLETE);
    below->clReleaseEvent(gate);
  }
  gates.clear();
}

cl_event new_gate(cl_command_queue queue) {
  cl_context context = nullptr;
  below->clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, nullptr);
  return below->clCreateUserEvent(context, nullptr);
}

// Adds an event to a command's wait list, to hold or delay the command. Must live until the command is enqueued.
class Before {
 public:
  Before(cl_command_queue queue, cl_uint count, const cl_event* wait, bool is_gated, bool late)
      : all_(wait, wait + count), late_(late ? state.late_ms.load() : 0) {
    if (is_gated) {
      all_.push_back(new_gate(queue));
      const std::lock_guard lock(mutex);
      gates.push_back(all_.back());
    }
    if (late_.count() != 0) all_.push_back(new_gate(queue));
  }
  ~Before() {
    if (late_.count() == 0) return;
    std::thread([late = late_, gate = all_.back()] {
      std::this_thread::sleep_for(late);
      below->clSetUserEventStatus(gate, CL_COMPLETE);
      below->clReleaseEvent(gate);
    }).detach();
  }
  Before(const Before&) = delete;
  Before& operator=(const Before&) = delete;
  cl_uint count() const { return static_cast<cl_uint>(all_.size()); }
  const cl_event* events() const { return all_.empty() ? nullptr : all_.data(); }

 private:
  std::vector<cl_event> all_;
  const std::chrono::milliseconds late_;
};

// For programs with CL_LAYER_SILENT_AT.
std::int64_t silent_at = 0;
cl_command_queue silent_queue = nullptr;

void let_go_at_exit() {
  state.silent = false;
  let_go();
  const bool ended = below->clFinish(silent_queue) == CL_SUCCESS;
  const char* const mark = std::getenv("CL_LAYER_MARK");
  if (std::FILE* const file = ended && mark != nullptr ? std::fopen(mark, "w") : nullptr) std::fclose(file);
}

void fall_silent(cl_command_queue queue) {
  state.hold_kernels = state.silent = true;
  silent_queue = queue;
  below->clRetainCommandQueue(queue);
  std::atexit(let_go_at_exit);
}

// For programs with CL_LAYER_ENDS.
bool has_ended = false;

void end() { has_ended = true; }

void expect_alive() {
  if (!has_ended) return;
  std::fputs("a driver was called after its end\n", stderr);
  std::abort();
}

// The code that this call must return instead of being made; CL_SUCCESS: make the call.
cl_int fault() {
  expect_alive();
  const std::int64_t call = ++state.calls;
  const std::int64_t first = state.fail_at;
  const bool now = first != 0 && (state.sticky ? call >= first : call == first);
  return now ? state.code.load() : CL_SUCCESS;
}

// Wraps a function that returns a code.
template <auto slot, typename... Args>
cl_int CL_API_CALL coded(Args... args) {
  if (const cl_int code = fault(); code != CL_SUCCESS) return code;
  return (below->*slot)(args...);
}

// Wraps a function that returns an object, and a code through its last argument.
template <typename Object, auto slot, typename... Args>
Object made(cl_int* code, Args... args) {
  const cl_int failed = fault();
  if (failed != CL_SUCCESS) {
    if (code != nullptr) *code = failed;
    return nullptr;
  }
  const Object object = (below->*slot)(args..., code);
  if (object != nullptr) ++state.references;
  return object;
}

template <auto slot, int step, typename Object>
cl_int CL_API_CALL counted(Object object) {
  expect_alive();
  state.references += step;
  return (below->*slot)(object);
}

// Wraps a command. Its event is one more reference.
template <auto slot, typename... Args>
cl_int command(cl_event* event, Args... args) {
  if (const cl_int code = fault(); code != CL_SUCCESS) return code;
  const cl_int code = (below->*slot)(args..., event);
  if (code == CL_SUCCESS && event != nullptr) ++state.references;
  return code;
}

cl_context CL_API_CALL create_context(const cl_context_properties* properties, cl_uint count,
                                      const cl_device_id* devices,
                                      void(CL_CALLBACK* notify)(const char*, const void*, size_t, void*), void* data,
                                      cl_int* code) {
  return made<cl_context, &cl_icd_dispatch::clCreateContext>(code, properties, count, devices, notify, data);
}

cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device,
                                          cl_command_queue_properties properties, cl_int* code) {
  return made<cl_command_queue, &cl_icd_dispatch::clCreateCommandQueue>(code, context, device, properties);
}

cl_program CL_API_CALL create_program(cl_context context, cl_uint count, const char** texts, const size_t* lengths,
                                      cl_int* code) {
  return made<cl_program, &cl_icd_dispatch::clCreateProgramWithSource>(code, context, count, texts, lengths);
}

cl_program CL_API_CALL create_binary(cl_context context, cl_uint count, const cl_device_id* devices,
                                     const size_t* lengths, const unsigned char** binaries, cl_int* status,
                                     cl_int* code) {
  return made<cl_program, &cl_icd_dispatch::clCreateProgramWithBinary>(code, context, count, devices, lengths, binaries,
                                                                       status);
}

cl_int CL_API_CALL build_program(cl_program program, cl_uint count, const cl_device_id* devices, const char* options,
                                 void(CL_CALLBACK* notify)(cl_program, void*), void* data) {
  ++state.builds;
  const char* const refused = std::getenv("CL_LAYER_REFUSE_OPTION");
  if (refused != nullptr && options != nullptr && std::strstr(options, refused) != nullptr) {
    return CL_INVALID_BUILD_OPTIONS;
  }
  while (state.hold_builds) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const cl_int code = coded<&cl_icd_dispatch::clBuildProgram>(program, count, devices, options, notify, data);
  if (code != CL_SUCCESS) --state.references;  // pocl's is kept then (kernels-cl/program)
  return code;
}

cl_kernel CL_API_CALL create_kernel(cl_program program, const char* name, cl_int* code) {
  const cl_kernel kernel = made<cl_kernel, &cl_icd_dispatch::clCreateKernel>(code, program, name);
  const std::lock_guard lock(mutex);
  reads[kernel] = {};
  return kernel;
}

cl_int CL_API_CALL set_argument(cl_kernel kernel, cl_uint index, size_t bytes, const void* value) {
  if (index == 0) {
    const std::lock_guard lock(mutex);
    reads[kernel].memory = value != nullptr;
  }
  return coded<&cl_icd_dispatch::clSetKernelArg>(kernel, index, bytes, value);
}

cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t bytes, void* host, cl_int* code) {
  const bool is_over_host = (flags & CL_MEM_USE_HOST_PTR) != 0;
  if (is_over_host && host == state.read_only && (flags & (CL_MEM_HOST_NO_ACCESS | CL_MEM_HOST_READ_ONLY)) == 0) {
    if (code != nullptr) *code = CL_OUT_OF_HOST_MEMORY;
    return nullptr;
  }
  const cl_mem buffer = made<cl_mem, &cl_icd_dispatch::clCreateBuffer>(code, context, flags, bytes, host);
  if (buffer == nullptr) return nullptr;
  const std::lock_guard lock(mutex);
  Buffer entry{is_over_host ? 0 : static_cast<std::int64_t>(bytes), 1};
  if (is_over_host) {
    entry.host = static_cast<const char*>(host);
    entry.host_bytes = bytes;
    if ((reinterpret_cast<std::uintptr_t>(host) | bytes) % 64 != 0)
      entry.copied_bytes = static_cast<std::int64_t>(bytes);
    for (const auto& [other, living] : buffers) {
      state.overlaps +=
          living.host != nullptr && living.host < entry.host + bytes && entry.host < living.host + living.host_bytes;
    }
  }
  state.buffer_bytes += entry.bytes;
  state.copied_bytes += entry.copied_bytes;
  if (state.buffer_bytes > state.peak_buffer_bytes) state.peak_buffer_bytes = state.buffer_bytes.load();
  if (state.copied_bytes > state.peak_copied_bytes) state.peak_copied_bytes = state.copied_bytes.load();
  buffers[buffer] = entry;
  return buffer;
}

cl_int CL_API_CALL retain_buffer(cl_mem buffer) {
  ++state.references;
  const std::lock_guard lock(mutex);
  if (const auto entry = buffers.find(buffer); entry != buffers.end()) ++entry->second.references;
  return below->clRetainMemObject(buffer);
}

cl_int CL_API_CALL release_buffer(cl_mem buffer) {
  expect_alive();
  --state.references;
  const std::lock_guard lock(mutex);
  if (const auto entry = buffers.find(buffer); entry != buffers.end() && --entry->second.references == 0) {
    state.buffer_bytes -= entry->second.bytes;
    state.copied_bytes -= entry->second.copied_bytes;
    buffers.erase(entry);
  }
  return below->clReleaseMemObject(buffer);
}

cl_int CL_API_CALL write_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t bytes,
                                const void* from, cl_uint count, const cl_event* wait, cl_event* event) {
  const Before before(queue, count, wait, false, blocking == CL_FALSE);
  return command<&cl_icd_dispatch::clEnqueueWriteBuffer>(event, queue, buffer, blocking, offset, bytes, from,
                                                         before.count(), before.events());
}

cl_int CL_API_CALL read_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t bytes,
                               void* to, cl_uint count, const cl_event* wait, cl_event* event) {
  return command<&cl_icd_dispatch::clEnqueueReadBuffer>(event, queue, buffer, blocking, offset, bytes, to, count, wait);
}

cl_int CL_API_CALL copy_buffer(cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset,
                               size_t bytes, cl_uint count, const cl_event* wait, cl_event* event) {
  return command<&cl_icd_dispatch::clEnqueueCopyBuffer>(event, queue, from, to, from_offset, to_offset, bytes, count,
                                                        wait);
}

cl_int CL_API_CALL fill_buffer(cl_command_queue queue, cl_mem buffer, const void* pattern, size_t pattern_bytes,
                               size_t offset, size_t bytes, cl_uint count, const cl_event* wait, cl_event* event) {
  return command<&cl_icd_dispatch::clEnqueueFillBuffer>(event, queue, buffer, pattern, pattern_bytes, offset, bytes,
                                                        count, wait);
}

cl_int CL_API_CALL marker(cl_command_queue queue, cl_uint count, const cl_event* wait, cl_event* event) {
  return command<&cl_icd_dispatch::clEnqueueMarkerWithWaitList>(event, queue, count, wait);
}

cl_int CL_API_CALL run_kernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t* offset,
                              const size_t* global, const size_t* local, cl_uint count, const cl_event* wait,
                              cl_event* event) {
  const std::int64_t number = ++state.kernels;
  if (number == silent_at) fall_silent(queue);
  {
    const std::lock_guard lock(mutex);
    state.stale_pointers += reads[kernel].announced_pointers && reads[kernel].memory;
  }
  if (number == state.lose_kernel_at) {
    return command<&cl_icd_dispatch::clEnqueueMarkerWithWaitList>(event, queue, count, wait);
  }
  const Before before(queue, count, wait, state.hold_kernels, true);
  return command<&cl_icd_dispatch::clEnqueueNDRangeKernel>(event, queue, kernel, dimensions, offset, global, local,
                                                           before.count(), before.events());
}

cl_int CL_API_CALL run_native(cl_command_queue queue, void(CL_CALLBACK* function)(void*), void* arguments, size_t bytes,
                              cl_uint memory_count, const cl_mem* memory, const void** places, cl_uint count,
                              const cl_event* wait, cl_event* event) {
  return command<&cl_icd_dispatch::clEnqueueNativeKernel>(event, queue, function, arguments, bytes, memory_count,
                                                          memory, places, count, wait);
}

cl_int CL_API_CALL device_ids(cl_platform_id platform, cl_device_type type, cl_uint count, cl_device_id* devices,
                              cl_uint* number) {
  ++state.searches;
  return coded<&cl_icd_dispatch::clGetDeviceIDs>(platform, type, count, devices, number);
}

constexpr cl_device_info kSvmCapabilities = 0x1053;
constexpr cl_uint kSvmPointers = 0x11B6;

cl_int CL_API_CALL device_info(cl_device_id device, cl_device_info what, size_t bytes, void* value, size_t* needed) {
  if (what == kSvmCapabilities && state.svm_capabilities >= 0 && bytes == sizeof(cl_bitfield)) {
    *static_cast<cl_bitfield*>(value) = static_cast<cl_bitfield>(state.svm_capabilities.load());
    return CL_SUCCESS;
  }
  const char* const name = std::getenv("CL_LAYER_DEVICE_NAME");
  if (what == CL_DEVICE_NAME && name != nullptr) {
    const std::size_t length = std::strlen(name) + 1;
    if (value != nullptr && bytes < length) return CL_INVALID_VALUE;
    if (value != nullptr) std::memcpy(value, name, length);
    if (needed != nullptr) *needed = length;
    return CL_SUCCESS;
  }
  return coded<&cl_icd_dispatch::clGetDeviceInfo>(device, what, bytes, value, needed);
}

// Wraps the functions by which a driver reports ended commands.
template <auto slot, typename... Args>
cl_int CL_API_CALL told(Args... args) {
  return state.silent ? CL_OUT_OF_RESOURCES : coded<slot>(args...);
}

using ExecutionInfo = cl_int(CL_API_CALL*)(cl_kernel, cl_uint, size_t, const void*);

cl_int CL_API_CALL execution_info(cl_kernel kernel, cl_uint what, size_t bytes, const void* value) {
  if (const cl_int code = fault(); code != CL_SUCCESS) return code;
  if (what == kSvmPointers) {
    const std::lock_guard lock(mutex);
    reads[kernel].announced_pointers = bytes != 0;
    state.announced_pointers += static_cast<std::int64_t>(bytes / sizeof(void*));
  } else {
    ++state.announced_systems;
  }
  if (state.svm_capabilities >= 0) return CL_SUCCESS;  // the device does not really have what it claims
  return reinterpret_cast<ExecutionInfo>(reinterpret_cast<void*>(below->clSetKernelExecInfo))(kernel, what, bytes,
                                                                                              value);
}

#define CODED(name, ...) table.name = coded<&cl_icd_dispatch::name, __VA_ARGS__>
#define TOLD(name, ...) table.name = told<&cl_icd_dispatch::name, __VA_ARGS__>
#define COUNTED(kind, Object)                                                  \
  table.clRetain##kind = counted<&cl_icd_dispatch::clRetain##kind, 1, Object>; \
  table.clRelease##kind = counted<&cl_icd_dispatch::clRelease##kind, -1, Object>

void fill_table() {
  table.clCreateContext = create_context;
  table.clCreateCommandQueue = create_queue;
  table.clCreateProgramWithSource = create_program;
  table.clCreateProgramWithBinary = create_binary;
  table.clCreateKernel = create_kernel;
  table.clCreateBuffer = create_buffer;
  table.clRetainMemObject = retain_buffer;
  table.clReleaseMemObject = release_buffer;
  COUNTED(Context, cl_context);
  COUNTED(CommandQueue, cl_command_queue);
  COUNTED(Program, cl_program);
  COUNTED(Kernel, cl_kernel);
  COUNTED(Event, cl_event);
  table.clEnqueueWriteBuffer = write_buffer;
  table.clEnqueueReadBuffer = read_buffer;
  table.clEnqueueCopyBuffer = copy_buffer;
  table.clEnqueueFillBuffer = fill_buffer;
  table.clEnqueueMarkerWithWaitList = marker;
  table.clEnqueueNDRangeKernel = run_kernel;
  table.clEnqueueNativeKernel = run_native;
  table.clGetDeviceInfo = device_info;
  table.clSetKernelExecInfo =
      reinterpret_cast<decltype(table.clSetKernelExecInfo)>(reinterpret_cast<void*>(execution_info));
  table.clBuildProgram = build_program;
  table.clSetKernelArg = set_argument;
  CODED(clFlush, cl_command_queue);
  CODED(clFinish, cl_command_queue);
  TOLD(clWaitForEvents, cl_uint, const cl_event*);
  table.clGetDeviceIDs = device_ids;
  CODED(clGetCommandQueueInfo, cl_command_queue, cl_command_queue_info, size_t, void*, size_t*);
  CODED(clGetProgramInfo, cl_program, cl_program_info, size_t, void*, size_t*);
  CODED(clGetProgramBuildInfo, cl_program, cl_device_id, cl_program_build_info, size_t, void*, size_t*);
  CODED(clGetKernelInfo, cl_kernel, cl_kernel_info, size_t, void*, size_t*);
  CODED(clGetPlatformInfo, cl_platform_id, cl_platform_info, size_t, void*, size_t*);
  CODED(clGetContextInfo, cl_context, cl_context_info, size_t, void*, size_t*);
  CODED(clGetMemObjectInfo, cl_mem, cl_mem_info, size_t, void*, size_t*);
  TOLD(clGetEventInfo, cl_event, cl_event_info, size_t, void*, size_t*);
  CODED(clSetMemObjectDestructorCallback, cl_mem, void(CL_CALLBACK*)(cl_mem, void*), void*);
  CODED(clSetEventCallback, cl_event, cl_int, void(CL_CALLBACK*)(cl_event, cl_int, void*), void*);
}

}  // namespace

extern "C" {

[[gnu::visibility("default")]] ClLayer* tensorstat_cl_layer() { return &state; }

#include "tests/support/cl_layer/layer_info.inc"

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint entries, const cl_icd_dispatch* target, cl_uint* made_entries,
                                            const cl_icd_dispatch** made_table) {
  if (target == nullptr || made_entries == nullptr || made_table == nullptr || entries < sizeof table / sizeof(void*)) {
    return CL_INVALID_VALUE;
  }
  below = target;
  table = *target;
  fill_table();
  state.let_go = let_go;
  if (const char* const given = std::getenv("CL_LAYER_SILENT_AT")) silent_at = std::atoll(given);
  if (std::getenv("CL_LAYER_ENDS") != nullptr) std::atexit(end);
  *made_entries = sizeof table / sizeof(void*);
  *made_table = &table;
  return CL_SUCCESS;
}

}  // extern "C"
