// An OpenCL layer to be loaded below ours. It fails calls that ours makes for itself, and none that the program makes
// through it: FAIL_OURS=K fails the K-th one, FAIL_OURS=-K the K-th and all behind it. FAIL_COUNT names a file for how
// many there were. With LATE_CALLBACKS each callback has been called before the function that sets it returns.
//
// Which call is ours is told by what it is about: programs with text of tensorstat's, their kernels, and commands that
// programs.cpp never uses.
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <thread>

namespace {

cl_icd_dispatch below, table;
std::mutex mutex;
std::set<const void*> ours;
std::atomic<long> calls{0};
long fail_at = 0;

// A driver reuses the address of a released object. The next object there may be the program's.
void note(const void* object, bool is) {
  const std::lock_guard lock(mutex);
  if (is) {
    ours.insert(object);
  } else {
    ours.erase(object);
  }
}
bool is_ours(const void* object) {
  const std::lock_guard lock(mutex);
  return ours.contains(object);
}
// Whether this call of ours fails.
bool fails() {
  const long call = ++calls;
  return fail_at > 0 ? call == fail_at : fail_at < 0 && call >= -fail_at;
}
constexpr cl_int kCode = CL_OUT_OF_HOST_MEMORY;

cl_program CL_API_CALL from_source(cl_context context, cl_uint count, const char** texts, const size_t* lengths,
                                   cl_int* code) {
  const bool is = std::strstr(texts[0], "tensorstat") != nullptr || std::strstr(texts[0], "TENSORSTAT") != nullptr;
  if (is && fails()) {
    if (code != nullptr) *code = kCode;
    return nullptr;
  }
  const cl_program made = below.clCreateProgramWithSource(context, count, texts, lengths, code);
  note(made, is);
  return made;
}

cl_program CL_API_CALL from_binary(cl_context context, cl_uint count, const cl_device_id* devices,
                                   const size_t* lengths, const unsigned char** binaries, cl_int* status,
                                   cl_int* code) {
  if (fails()) {
    if (code != nullptr) *code = kCode;
    return nullptr;
  }
  const cl_program made = below.clCreateProgramWithBinary(context, count, devices, lengths, binaries, status, code);
  note(made, true);
  return made;
}

cl_int CL_API_CALL build(cl_program program, cl_uint count, const cl_device_id* devices, const char* options,
                         void(CL_CALLBACK* notify)(cl_program, void*), void* data) {
  if (is_ours(program) && fails()) return kCode;
  return below.clBuildProgram(program, count, devices, options, notify, data);
}

cl_kernel CL_API_CALL create_kernel(cl_program program, const char* name, cl_int* code) {
  const bool is = is_ours(program);
  if (is && fails()) {
    if (code != nullptr) *code = kCode;
    return nullptr;
  }
  const cl_kernel made = below.clCreateKernel(program, name, code);
  note(made, is);
  return made;
}

cl_int CL_API_CALL set_argument(cl_kernel kernel, cl_uint index, size_t bytes, const void* value) {
  if (is_ours(kernel) && fails()) return kCode;
  return below.clSetKernelArg(kernel, index, bytes, value);
}

cl_int CL_API_CALL launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t* offset,
                          const size_t* global, const size_t* local, cl_uint count, const cl_event* wait,
                          cl_event* event) {
  if (is_ours(kernel) && fails()) return kCode;
  // As OpenCL says. pocl 3.1 reads the list instead.
  if (count != 0 && wait == nullptr) return CL_INVALID_EVENT_WAIT_LIST;
  return below.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, count, wait, event);
}

cl_int CL_API_CALL read(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t bytes, void* to,
                        cl_uint count, const cl_event* wait, cl_event* event) {
  if (blocking == CL_FALSE && fails()) return kCode;
  return below.clEnqueueReadBuffer(queue, buffer, blocking, offset, bytes, to, count, wait, event);
}

cl_int CL_API_CALL native(cl_command_queue queue, void(CL_CALLBACK* function)(void*), void* arguments, size_t bytes,
                          cl_uint memory_count, const cl_mem* memory, const void** places, cl_uint count,
                          const cl_event* wait, cl_event* event) {
  if (fails()) return kCode;
  return below.clEnqueueNativeKernel(queue, function, arguments, bytes, memory_count, memory, places, count, wait,
                                     event);
}

cl_int CL_API_CALL marker(cl_command_queue queue, cl_uint count, const cl_event* wait, cl_event* event) {
  if (fails()) return kCode;
  return below.clEnqueueMarkerWithWaitList(queue, count, wait, event);
}

cl_int CL_API_CALL callback(cl_event event, cl_int status, void(CL_CALLBACK* function)(cl_event, cl_int, void*),
                            void* data) {
  if (fails()) return kCode;
  if (std::getenv("LATE_CALLBACKS") == nullptr) return below.clSetEventCallback(event, status, function, data);
  below.clWaitForEvents(1, &event);
  const cl_int code = below.clSetEventCallback(event, status, function, data);
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  return code;
}

cl_int CL_API_CALL argument_info(cl_kernel kernel, cl_uint index, cl_kernel_arg_info what, size_t bytes, void* value,
                                 size_t* needed) {
  if (fails()) return kCode;
  return below.clGetKernelArgInfo(kernel, index, what, bytes, value, needed);
}

cl_int CL_API_CALL context_info(cl_context context, cl_context_info what, size_t bytes, void* value, size_t* needed) {
  if (fails()) return kCode;
  return below.clGetContextInfo(context, what, bytes, value, needed);
}

cl_int CL_API_CALL device_info(cl_device_id device, cl_device_info what, size_t bytes, void* value, size_t* needed) {
  if (fails()) return kCode;
  size_t there = 0;
  const cl_int code = below.clGetDeviceInfo(device, what, bytes, value, &there);
  if (needed != nullptr) *needed = there;
  // A version of an extension that nobody knows yet, on the same side of the change of its functions.
  if (code == CL_SUCCESS && value != nullptr && what == CL_DEVICE_EXTENSIONS_WITH_VERSION &&
      std::getenv("OTHER_COMMAND_BUFFERS") != nullptr) {
    for (size_t i = 0; i < there / sizeof(cl_name_version); ++i) {
      cl_name_version& each = static_cast<cl_name_version*>(value)[i];
      if (std::strcmp(each.name, "cl_khr_command_buffer") != 0) continue;
      each.version = each.version < CL_MAKE_VERSION(0, 9, 5) ? CL_MAKE_VERSION(0, 8, 0) : CL_MAKE_VERSION(0, 99, 0);
    }
  }
  return code;
}

// A function of an extension that pocl does not have. It takes shared memory of any kind.
cl_int CL_API_CALL set_unified(cl_kernel kernel, cl_uint index, const void* pointer) {
  return below.clSetKernelArgSVMPointer(kernel, index, pointer);
}

// The function of cl_khr_create_command_queue, which pocl lacks. The layer of `attach` does not see its queues.
cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device,
                                          const cl_queue_properties* properties, cl_int* code) {
  return below.clCreateCommandQueueWithProperties(context, device, properties, code);
}

void* CL_API_CALL address(cl_platform_id platform, const char* name) {
  if (std::strcmp(name, "clCreateCommandQueueWithPropertiesKHR") == 0) return reinterpret_cast<void*>(create_queue);
  if (std::strcmp(name, "clSetKernelArgMemPointerINTEL") == 0) return reinterpret_cast<void*>(set_unified);
  return below.clGetExtensionFunctionAddressForPlatform(platform, name);
}

void write_count() {
  const char* const path = std::getenv("FAIL_COUNT");
  std::FILE* const file = path == nullptr ? nullptr : std::fopen(path, "w");
  if (file == nullptr) return;
  std::fprintf(file, "%ld\n", calls.load());
  std::fclose(file);
}

}  // namespace

extern "C" {

#include "tests/support/cl_layer/layer_info.inc"

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint, const cl_icd_dispatch* target, cl_uint* made_entries,
                                            const cl_icd_dispatch** made_table) {
  below = *target;
  table = below;
  table.clCreateProgramWithSource = from_source;
  table.clCreateProgramWithBinary = from_binary;
  table.clBuildProgram = build;
  table.clCreateKernel = create_kernel;
  table.clSetKernelArg = set_argument;
  table.clEnqueueNDRangeKernel = launch;
  table.clEnqueueReadBuffer = read;
  table.clEnqueueNativeKernel = native;
  table.clEnqueueMarkerWithWaitList = marker;
  table.clSetEventCallback = callback;
  table.clGetKernelArgInfo = argument_info;
  table.clGetContextInfo = context_info;
  table.clGetDeviceInfo = device_info;
  table.clGetExtensionFunctionAddressForPlatform = address;
  if (const char* const text = std::getenv("FAIL_OURS")) fail_at = std::atol(text);
  std::atexit(write_count);
  *made_entries = sizeof table / sizeof(void*);
  *made_table = &table;
  return CL_SUCCESS;
}

}  // extern "C"
