// Shared by programs.cpp and more_programs.cpp: a context with one queue, kernels, and buffers.
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace attached {

inline constexpr size_t kCount = 1024, kBytes = kCount * sizeof(float);
inline constexpr const char* kSource = R"(
typedef float real;
typedef float2 pair;
typedef union { struct { float x, y; }; struct { float real, imag; }; } cfloat_t;  // as PyOpenCL has it
__kernel void complex_root(__global const cfloat_t* a, __global cfloat_t* b) {
  size_t i = get_global_id(0);
  b[i].x = a[i].x;
  b[i].y = sqrt(a[i].y - 2);
}
__kernel void twice(__global const real* a, __global real* b) { size_t i = get_global_id(0); b[i] = 2 * a[i]; }
__kernel void root(__global const float* a, __global float* b) { size_t i = get_global_id(0); b[i] = sqrt(a[i]); }
__kernel void minus(__global const float* a, __global float* b) { size_t i = get_global_id(0); b[i] = -a[i]; }
__kernel void clear(__global float* b) { b[get_global_id(0)] = 0; }
__kernel void clear_at(__global const ulong* at) { ((__global float*)at[0])[get_global_id(0)] = 0; }
__kernel void half_of(__global const float* a, __global float* b) {
  size_t i = get_global_id(0);
  if (i < 512) b[i] = a[i];
}
__kernel void in_place(__global pair* x) { x[get_global_id(0)] = log(x[get_global_id(0)]); }
__kernel void sum(__global const float* a, __global float* b) {
  float s = 0;
  for (int i = 0; i < 1024; ++i) s += a[i];
  b[get_global_id(0)] = s;
}
)";

inline void check(cl_int code, const char* what) {
  if (code == CL_SUCCESS) return;
  std::printf("%s: %d\n", what, code);
  std::fflush(stdout);
  std::_Exit(3);
}

struct Program {
  cl_device_id device = nullptr;
  cl_context context = nullptr;
  cl_program program = nullptr;
  cl_command_queue queue = nullptr;

  explicit Program(cl_command_queue_properties properties = 0) {
    cl_platform_id platforms[8];
    cl_uint count = 0;
    check(clGetPlatformIDs(8, platforms, &count), "platforms");
    check(clGetDeviceIDs(platforms[0], CL_DEVICE_TYPE_ALL, 1, &device, nullptr), "devices");
    cl_int code = 0;
    context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &code);
    check(code, "context");
    const char* text = kSource;
    program = clCreateProgramWithSource(context, 1, &text, nullptr, &code);
    check(code, "program");
    check(clBuildProgram(program, 1, &device, "-cl-std=CL1.2", nullptr, nullptr), "build");
    char options[256] = "";
    check(clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_OPTIONS, sizeof options, options, nullptr),
          "options");
    std::printf("options '%s'\n", options);
    queue = new_queue(properties);
  }
  cl_command_queue new_queue(cl_command_queue_properties properties = 0) const {
    cl_int code = 0;
    const cl_command_queue made = clCreateCommandQueue(context, device, properties, &code);
    check(code, "queue");
    return made;
  }
  // Holds -0.5, 0.5, 1.5, ...; without content where `filled` is false.
  cl_mem buffer(bool filled, cl_mem_flags flags = CL_MEM_READ_WRITE, float first = -0.5f) const {
    std::vector<float> content(kCount);
    for (size_t i = 0; i < kCount; ++i) content[i] = first + static_cast<float>(i);
    cl_int code = 0;
    const cl_mem made = clCreateBuffer(context, flags | (filled ? CL_MEM_COPY_HOST_PTR : 0), kBytes,
                                       filled ? content.data() : nullptr, &code);
    check(code, "buffer");
    return made;
  }
  cl_kernel kernel(const char* name, const std::vector<cl_mem>& arguments) const {
    cl_int code = 0;
    const cl_kernel made = clCreateKernel(program, name, &code);
    check(code, name);
    set(made, arguments);
    return made;
  }
  static void set(cl_kernel kernel, const std::vector<cl_mem>& arguments) {
    for (cl_uint i = 0; i < arguments.size(); ++i) {
      check(clSetKernelArg(kernel, i, sizeof(cl_mem), &arguments[i]), "argument");
    }
  }
  cl_event launch(cl_kernel kernel, cl_command_queue on = nullptr, std::vector<cl_event> waits = {},
                  size_t size = kCount) const {
    cl_event event = nullptr;
    check(clEnqueueNDRangeKernel(on == nullptr ? queue : on, kernel, 1, nullptr, &size, nullptr,
                                 static_cast<cl_uint>(waits.size()), waits.empty() ? nullptr : waits.data(), &event),
          "launch");
    return event;
  }
  void run(const char* name, const std::vector<cl_mem>& arguments, size_t size = kCount) const {
    const cl_kernel made = kernel(name, arguments);
    clReleaseEvent(launch(made, nullptr, {}, size));
    clReleaseKernel(made);
  }
  void print(const char* name, cl_mem memory, cl_command_queue on = nullptr, size_t bytes = kBytes) const {
    std::vector<float> content(bytes / sizeof(float));
    check(
        clEnqueueReadBuffer(on == nullptr ? queue : on, memory, CL_TRUE, 0, bytes, content.data(), 0, nullptr, nullptr),
        "read");
    size_t nan = 0;
    for (const float each : content) nan += std::isnan(each) ? 1 : 0;
    std::printf("%s: %g %g, %zu NaN\n", name, std::isnan(content[0]) ? 0.0 : content[0], content[1], nan);
  }
};

// Shared memory, command buffers and images.
extern const std::map<std::string, std::function<void()>> kMorePrograms;
// Launches that are held back.
extern const std::map<std::string, std::function<void()>> kGatedPrograms;

}  // namespace attached
