#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "bench/device/measure.hpp"
#include "kernels-cl/driver/cl.hpp"
#include "kernels-cl/driver/device.hpp"

namespace tensorstat::bench {
namespace {

// One operation in inline PTX: its text, the first chip that has it, and its result for fixed operands.
struct Ptx {
  const char* text;
  const char* since;
  unsigned answer;
};
constexpr Ptx kPtx[] = {
    {"prmt.b32 %0, %1, %2, 0x2301;", "any", 0x7001f080},
    {"dp4a.s32.s32 %0, %1, %2, %1;", "sm_61", 0},
    {"dp2a.lo.u32.u32 %0, %1, %2, %1;", "sm_61", 0},
    {"max.s16x2 %0, %1, %2;", "sm_90", 0x01ff7001},
    {"min.u16x2 %0, %1, %2;", "sm_90", 0},
};

void print_ptx(const cl::Device& device) {
  const cl::Context context(device);
  for (const Ptx& each : kPtx) {
    const std::string text = "kernel void ask(global uint* at) { uint d; __asm__(\"" + std::string(each.text) +
                             "\" : \"=r\"(d) : \"r\"(at[0]), \"r\"(at[1])); at[2] = d; }";
    const cl::Program program(context, text, false);
    std::printf("    inline PTX %-34s %-6s ", each.text, each.since);
    if (program.build({device}) != CL_SUCCESS) {
      std::printf("does not compile\n");
      continue;
    }
    cl_uint words[3] = {0x80f00170, 0x01027fff, 0};
    const cl::CommandQueue queue(context, device);
    cl::Buffer memory(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof words, words);
    cl::Kernel kernel(program, "ask");
    kernel.setArg(0, memory);
    queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(1));
    if (queue.enqueueReadBuffer(memory, CL_TRUE, 0, sizeof words, words) != CL_SUCCESS) {
      std::printf("compiles, and fails when it runs\n");
      continue;
    }
    std::printf("gives %#010x\n", words[2]);
  }
}

void print_device(const cl::Device& device, std::size_t platform, std::size_t index) {
  const auto kib = [](auto bytes) { return static_cast<unsigned long long>(bytes >> 10); };
  std::printf("  device %zu:%zu %s\n", platform, index, device.getInfo<CL_DEVICE_NAME>().c_str());
  std::printf("    vendor %s, driver %s, %s, %s\n", device.getInfo<CL_DEVICE_VENDOR>().c_str(),
              device.getInfo<CL_DRIVER_VERSION>().c_str(), device.getInfo<CL_DEVICE_VERSION>().c_str(),
              device.getInfo<CL_DEVICE_OPENCL_C_VERSION>().c_str());
  std::printf("    %u units at %u MHz, %llu MiB, largest buffer %llu MiB, local memory %llu KiB, groups of %zu\n",
              device.getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>(), device.getInfo<CL_DEVICE_MAX_CLOCK_FREQUENCY>(),
              kib(device.getInfo<CL_DEVICE_GLOBAL_MEM_SIZE>()) >> 10,
              kib(device.getInfo<CL_DEVICE_MAX_MEM_ALLOC_SIZE>()) >> 10,
              kib(device.getInfo<CL_DEVICE_LOCAL_MEM_SIZE>()), device.getInfo<CL_DEVICE_MAX_WORK_GROUP_SIZE>());
  std::printf("    extensions %s\n", device.getInfo<CL_DEVICE_EXTENSIONS>().c_str());
  const auto described = cl_engine::describe(device);
  if (!described) {
    std::printf("    the library refuses it: %s\n", described.error().message.c_str());
    return;
  }
  std::printf("    fp64 %s, float32 subnormals %s, shape %s\n", described->fp64 ? "yes" : "no",
              described->float_subnormals ? "kept" : "flushed",
              described->shape == cl_engine::Shape::kGroup
                  ? ("group of " + std::to_string(described->group_size)).c_str()
                  : "slice");
  if (!described->is_cpu) print_ptx(device);
}

}  // namespace

void print_devices() {
  std::vector<cl::Platform> platforms;
  cl::Platform::get(&platforms);
  if (platforms.empty()) throw std::runtime_error("OpenCL has no platform");
  for (std::size_t p = 0; p < platforms.size(); ++p) {
    std::printf("platform %s: %s\n", platforms[p].getInfo<CL_PLATFORM_NAME>().c_str(),
                platforms[p].getInfo<CL_PLATFORM_VERSION>().c_str());
    std::vector<cl::Device> devices;
    platforms[p].getDevices(CL_DEVICE_TYPE_ALL, &devices);
    for (std::size_t d = 0; d < devices.size(); ++d) print_device(devices[d], p, d);
  }
  const auto chosen = cl_engine::choose_device({});
  if (!chosen) throw std::runtime_error(chosen.error().message);
  std::printf("chosen: %s\n", chosen->info.name.c_str());
}

}  // namespace tensorstat::bench
