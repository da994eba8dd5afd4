// The kernels as PTX, for CUDA's driver. NVIDIA's OpenCL driver makes it of their text. That takes a context of its own
// and some seconds, so the helper program does it (kernels-cl/trial), once for each kernel: the result is kept on disk
// with the other kernels.
#pragma once

#include <cstdint>
#include <string>
#include <tensorstat/status.hpp>

#include "kernels-cl/driver/device.hpp"
#include "kernels-cl/program/program.hpp"

namespace tensorstat::cl_engine {

// NVIDIA's OpenCL driver. It lies beside CUDA's.
inline constexpr const char* kCompiler = "libnvidia-opencl.so.1";

// What is known of a GPU by CUDA's driver. The PTX depends on the first three.
struct CudaGpu {
  std::string name;
  std::uint32_t capability = 0;  // 10 * major + minor
  int driver_version = 0;        // 1000 * major + 10 * minor, of CUDA
  std::uint32_t units = 1;
  std::string folder;  // where the driver's files lie
};

// The description that the kernels are launched by.
Device device_of(const CudaGpu& gpu);

// From the disk, or made by the helper. An error says why there is none.
Result<std::string> ptx_of(const CudaGpu& gpu, const KernelKind& kind);

// The helper's part: builds the kernel through OpenCL, checks it, and writes its PTX to the disk.
Status make_ptx(const CudaGpu& gpu, const KernelKind& kind);

}  // namespace tensorstat::cl_engine
