// An OpenCL layer that looks for NaN in the first way that comes to mind. naive_test.py shows which programs it hangs,
// changes or misjudges: these are the programs that `tensorstat attach` has to be held to.
//
// NAIVE=waits: finishes the queue before and behind each launch and reads all arguments, under one mutex.
// NAIVE=late: disturbs nobody, and reads the arguments of all launches when the process ends.
// Both add -cl-kernel-arg-info to each build, take the names of types as they are, and hand every error on.
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace {

cl_icd_dispatch below, table;
bool is_late = false;
std::mutex mutex;
std::map<cl_mem, size_t> buffers;  // that live, and their bytes
std::map<cl_kernel, std::map<cl_uint, cl_mem>> arguments;

struct Launch {
  cl_command_queue queue;
  std::string name;
  std::map<cl_mem, bool> floats;  // the arguments, and whether they are const
};
std::vector<Launch>& launches = *new std::vector<Launch>;

bool has_nan(cl_command_queue queue, cl_mem memory) {
  const auto entry = buffers.find(memory);
  if (entry == buffers.end()) return false;
  std::vector<float> content(entry->second / sizeof(float));
  below.clEnqueueReadBuffer(queue, memory, CL_TRUE, 0, content.size() * sizeof(float), content.data(), 0, nullptr,
                            nullptr);
  for (const float each : content) {
    if (std::isnan(each)) return true;
  }
  return false;
}

// For the const arguments, or for all others.
bool has_any_nan(const Launch& launch, bool is_const) {
  for (const auto& [memory, of_const] : launch.floats) {
    if (of_const == is_const && has_nan(launch.queue, memory)) return true;
  }
  return false;
}

void accuse(const Launch& launch) { std::fprintf(stderr, "NaN in %s\n", launch.name.c_str()); }

cl_int describe(cl_kernel kernel, Launch& launch) {
  char name[256] = "";
  below.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, nullptr);
  launch.name = std::string(name) + "#" + std::to_string(launches.size());
  for (const auto& [index, memory] : arguments[kernel]) {
    char type[256] = "";
    cl_kernel_arg_type_qualifier qualifiers = 0;
    cl_int code = below.clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_TYPE_NAME, sizeof type, type, nullptr);
    if (code != CL_SUCCESS) return code;
    code =
        below.clGetKernelArgInfo(kernel, index, CL_KERNEL_ARG_TYPE_QUALIFIER, sizeof qualifiers, &qualifiers, nullptr);
    if (code != CL_SUCCESS) return code;
    if (std::strncmp(type, "float", 5) == 0) launch.floats[memory] = (qualifiers & CL_KERNEL_ARG_TYPE_CONST) != 0;
  }
  return CL_SUCCESS;
}

cl_int CL_API_CALL launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t* offset,
                          const size_t* global, const size_t* local, cl_uint count, const cl_event* wait,
                          cl_event* event) {
  const std::lock_guard lock(mutex);
  Launch seen{queue, "", {}};
  if (const cl_int code = describe(kernel, seen); code != CL_SUCCESS) return code;
  const bool was_there = !is_late && (has_any_nan(seen, true) || has_any_nan(seen, false));
  const cl_int code =
      below.clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, count, wait, event);
  if (!is_late) {
    below.clFinish(queue);
    if (!was_there && has_any_nan(seen, false)) accuse(seen);
  }
  launches.push_back(seen);
  return code;
}

void look_at_the_end() {
  for (const Launch& each : launches) {
    if (!has_any_nan(each, true) && has_any_nan(each, false)) accuse(each);
  }
}

cl_int CL_API_CALL build(cl_program program, cl_uint count, const cl_device_id* devices, const char* options,
                         void(CL_CALLBACK* notify)(cl_program, void*), void* data) {
  const std::string more = std::string(options == nullptr ? "" : options) + " -cl-kernel-arg-info";
  return below.clBuildProgram(program, count, devices, more.c_str(), notify, data);
}

cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t bytes, void* host, cl_int* code) {
  const cl_mem made = below.clCreateBuffer(context, flags, bytes, host, code);
  const std::lock_guard lock(mutex);
  buffers[made] = bytes;
  return made;
}

cl_int CL_API_CALL release_memory(cl_mem memory) {
  const std::lock_guard lock(mutex);
  buffers.erase(memory);
  return below.clReleaseMemObject(memory);
}

cl_int CL_API_CALL set_argument(cl_kernel kernel, cl_uint index, size_t bytes, const void* value) {
  const std::lock_guard lock(mutex);
  if (bytes == sizeof(cl_mem)) std::memcpy(&arguments[kernel][index], value, bytes);
  return below.clSetKernelArg(kernel, index, bytes, value);
}

}  // namespace

extern "C" {

#include "tests/support/cl_layer/layer_info.inc"

CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint, const cl_icd_dispatch* target, cl_uint* made_entries,
                                            const cl_icd_dispatch** made_table) {
  below = *target;
  table = below;
  table.clEnqueueNDRangeKernel = launch;
  table.clBuildProgram = build;
  table.clCreateBuffer = create_buffer;
  table.clReleaseMemObject = release_memory;
  table.clSetKernelArg = set_argument;
  const char* const how = std::getenv("NAIVE");
  is_late = how != nullptr && std::strcmp(how, "late") == 0;
  if (is_late) std::atexit(look_at_the_end);
  *made_entries = sizeof table / sizeof(void*);
  *made_table = &table;
  return CL_SUCCESS;
}

}  // extern "C"
