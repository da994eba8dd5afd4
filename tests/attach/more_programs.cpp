// Programs with memory that is no plain buffer, and with launches that are no plain kernels.
#include "tests/attach/program.hpp"
// It takes the version that program.hpp asks for.
#include <CL/cl_ext.h>

#include <limits>

namespace attached {
namespace {

float* shared(const Program& p, cl_svm_mem_flags flags = CL_MEM_READ_WRITE) {
  void* const made = clSVMAlloc(p.context, flags, kBytes, 0);
  check(made == nullptr ? CL_OUT_OF_RESOURCES : CL_SUCCESS, "shared memory");
  return static_cast<float*>(made);
}

void launch_on_shared(const Program& p, const char* name, const std::vector<const void*>& pointers) {
  const cl_kernel kernel = p.kernel(name, {});
  for (cl_uint i = 0; i < pointers.size(); ++i) check(clSetKernelArgSVMPointer(kernel, i, pointers[i]), "argument");
  clReleaseEvent(p.launch(kernel));
  clReleaseKernel(kernel);
}

void write_shared(const Program& p, float* to, float first) {
  check(clEnqueueSVMMap(p.queue, CL_TRUE, CL_MAP_WRITE, to, kBytes, 0, nullptr, nullptr), "map");
  for (size_t i = 0; i < kCount; ++i) to[i] = first + static_cast<float>(i);
  check(clEnqueueSVMUnmap(p.queue, to, 0, nullptr, nullptr), "unmap");
}

void print_shared(const Program& p, const char* name, float* of) {
  check(clEnqueueSVMMap(p.queue, CL_TRUE, CL_MAP_READ, of, kBytes, 0, nullptr, nullptr), "map");
  size_t nan = 0;
  for (size_t i = 0; i < kCount; ++i) nan += std::isnan(of[i]) ? 1 : 0;
  std::printf("%s: %g, %zu NaN\n", name, of[1], nan);
  check(clEnqueueSVMUnmap(p.queue, of, 0, nullptr, nullptr), "unmap");
}

// Freed by the host, and on a queue behind the launches that use it.
void shared_memory() {
  const Program p;
  float *const a = shared(p), *const b = shared(p), *const c = shared(p);
  write_shared(p, a, 1);
  launch_on_shared(p, "root", {a, b});
  write_shared(p, a, -0.5f);
  launch_on_shared(p, "root", {a, c});
  print_shared(p, "b", b);
  print_shared(p, "c", c);
  check(clEnqueueSVMMemcpy(p.queue, CL_FALSE, b, c, kBytes, 0, nullptr, nullptr), "copy");
  const float one = 1;
  check(clEnqueueSVMMemFill(p.queue, a, &one, sizeof one, kBytes, 0, nullptr, nullptr), "fill");
  launch_on_shared(p, "twice", {b, a});
  void* freed[] = {b, c};
  check(clEnqueueSVMFree(p.queue, 2, freed, nullptr, nullptr, 0, nullptr, nullptr), "free");
  check(clFinish(p.queue), "finish");
  clSVMFree(p.context, a);
}

// The host writes it without a call.
void shared_with_host() {
  const Program p;
  float *const a = shared(p, CL_MEM_READ_WRITE | CL_MEM_SVM_FINE_GRAIN_BUFFER), *const b = shared(p);
  for (size_t i = 0; i < kCount; ++i) a[i] = 1;
  launch_on_shared(p, "twice", {a, b});
  check(clFinish(p.queue), "finish");
  a[7] = std::numeric_limits<float>::quiet_NaN();
  launch_on_shared(p, "twice", {a, b});
  print_shared(p, "b", b);
}

template <typename Function>
Function extension(const Program& p, const char* name) {
  cl_platform_id platform = nullptr;
  check(clGetDeviceInfo(p.device, CL_DEVICE_PLATFORM, sizeof platform, &platform, nullptr), "platform");
  void* const found = clGetExtensionFunctionAddressForPlatform(platform, name);
  check(found == nullptr ? CL_INVALID_OPERATION : CL_SUCCESS, name);
  return reinterpret_cast<Function>(found);
}

void command_buffer() {
  const Program p;
  const auto create = extension<clCreateCommandBufferKHR_fn>(p, "clCreateCommandBufferKHR");
  const auto release = extension<clReleaseCommandBufferKHR_fn>(p, "clReleaseCommandBufferKHR");
  const auto finalize = extension<clFinalizeCommandBufferKHR_fn>(p, "clFinalizeCommandBufferKHR");
  const auto add = extension<clCommandNDRangeKernelKHR_fn>(p, "clCommandNDRangeKernelKHR");
  const auto fill = extension<clCommandFillBufferKHR_fn>(p, "clCommandFillBufferKHR");
  const auto enqueue = extension<clEnqueueCommandBufferKHR_fn>(p, "clEnqueueCommandBufferKHR");
  const cl_mem a = p.buffer(true, CL_MEM_READ_WRITE, 1), b = p.buffer(false), c = p.buffer(false), d = p.buffer(true);
  cl_int code = 0;
  const cl_command_buffer_khr commands = create(1, &p.queue, nullptr, &code);
  check(code, "command buffer");
  cl_sync_point_khr points[3] = {};
  const size_t size = kCount;
  const cl_kernel twice = p.kernel("twice", {a, b}), root = p.kernel("root", {b, c});
  const float five = 5;
  check(fill(commands, nullptr, d, &five, sizeof five, 0, kBytes, 0, nullptr, &points[0], nullptr), "fill");
  check(add(commands, nullptr, nullptr, twice, 1, nullptr, &size, nullptr, 1, &points[0], &points[1], nullptr), "add");
  check(add(commands, nullptr, nullptr, root, 1, nullptr, &size, nullptr, 1, &points[1], &points[2], nullptr), "add");
  check(finalize(commands), "finalize");
  check(enqueue(0, nullptr, commands, 0, nullptr, nullptr), "enqueue");
  p.print("c", c);
  // A launch in between gives it other values.
  p.run("minus", {a, a});
  check(enqueue(0, nullptr, commands, 0, nullptr, nullptr), "enqueue");
  p.print("c", c);
  p.run("twice", {d, a});
  p.print("a", a);
  check(release(commands), "release");
}

void complex_numbers() {
  const Program p;
  const cl_mem a = p.buffer(true), b = p.buffer(false);
  p.run("complex_root", {a, b}, kCount / 2);
  p.print("b", b);
}

void image() {
  const Program p;
  const cl_mem a = p.buffer(true), b = p.buffer(false);
  const cl_image_format format{CL_R, CL_FLOAT};
  cl_image_desc facts{};
  facts.image_type = CL_MEM_OBJECT_IMAGE2D;
  facts.image_width = kCount;
  facts.image_height = 1;
  cl_int code = 0;
  const cl_mem made = clCreateImage(p.context, CL_MEM_READ_WRITE, &format, &facts, nullptr, &code);
  check(code, "image");
  p.run("to_image", {a, made});
  p.run("root", {a, b});
  p.print("b", b);
}

// Memory of an extension that pocl does not have; failing_layer.cpp has the function.
void unified_memory() {
  const Program p;
  const auto set = extension<clSetKernelArgMemPointerINTEL_fn>(p, "clSetKernelArgMemPointerINTEL");
  std::vector<float> a(kCount, 4), b(kCount);
  const cl_kernel kernel = p.kernel("root", {});
  check(set(kernel, 0, a.data()), "argument");
  check(set(kernel, 1, b.data()), "argument");
  p.launch(kernel);
  check(clFinish(p.queue), "finish");
  std::printf("%g\n", b[1023]);
}

}  // namespace

const std::map<std::string, std::function<void()>> kMorePrograms = {
    {"shared_memory", shared_memory},     {"shared_with_host", shared_with_host},
    {"command_buffer", command_buffer},   {"image", image},
    {"complex_numbers", complex_numbers}, {"unified_memory", unified_memory},
};

}  // namespace attached
