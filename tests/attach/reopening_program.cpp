// Opens libOpenCL, launches a kernel, closes it, and does so again, as plugins do.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>

#define FIND(name) const auto p_##name = reinterpret_cast<decltype(&(name))>(dlsym(library, #name))

namespace {

const char* const kSource =
    "__kernel void root(__global float* y) { y[get_global_id(0)] = sqrt(y[get_global_id(0)]); }";

int once(int round) {
  void* const library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return 9;
  FIND(clGetPlatformIDs);
  FIND(clGetDeviceIDs);
  FIND(clCreateContext);
  FIND(clCreateCommandQueue);
  FIND(clCreateProgramWithSource);
  FIND(clBuildProgram);
  FIND(clCreateKernel);
  FIND(clCreateBuffer);
  FIND(clSetKernelArg);
  FIND(clEnqueueNDRangeKernel);
  FIND(clFinish);
  FIND(clReleaseContext);
  FIND(clReleaseMemObject);
  FIND(clReleaseKernel);
  FIND(clReleaseProgram);
  FIND(clReleaseCommandQueue);
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  p_clGetPlatformIDs(1, &platform, nullptr);
  p_clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr);
  const cl_context context = p_clCreateContext(nullptr, 1, &device, nullptr, nullptr, nullptr);
  const cl_command_queue queue = p_clCreateCommandQueue(context, device, 0, nullptr);
  const char* text = kSource;
  const cl_program program = p_clCreateProgramWithSource(context, 1, &text, nullptr, nullptr);
  p_clBuildProgram(program, 1, &device, "", nullptr, nullptr);
  const cl_kernel kernel = p_clCreateKernel(program, "root", nullptr);
  float content[64] = {round == 2 ? -1.0F : 1.0F};
  const cl_mem memory =
      p_clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof content, content, nullptr);
  p_clSetKernelArg(kernel, 0, sizeof memory, &memory);
  const size_t size = 64;
  const int code = p_clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &size, nullptr, 0, nullptr, nullptr);
  p_clFinish(queue);
  p_clReleaseMemObject(memory);
  p_clReleaseKernel(kernel);
  p_clReleaseProgram(program);
  p_clReleaseCommandQueue(queue);
  p_clReleaseContext(context);
  std::printf("round %d: %d, %d\n", round, code, dlclose(library));
  std::fflush(stdout);
  usleep(100000);
  return 0;
}

}  // namespace

int main() {
  for (int round = 0; round < 4; ++round) {
    const int failed = once(round);
    if (failed != 0) return failed;
  }
  return 0;
}
