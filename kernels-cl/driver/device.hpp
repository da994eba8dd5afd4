// Finds devices, and tells what the engine needs to know of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tensorstat/meter.hpp>
#include <tensorstat/status.hpp>
#include <vector>

#include "kernels-cl/driver/cl.hpp"

namespace tensorstat::cl_engine {

// The shape of a kernel (kernels-cl/cl/vectors.cl).
enum class Shape : std::uint8_t { kSlice, kGroup };

// The host pointers that a device can use directly. kernels-cl/driver/host_pointers.hpp finds out.
enum class Pointers : std::uint8_t {
  kNone,       // none: it sees memory only through a cl_mem
  kSvm,        // pointers into shared virtual memory
  kSameSpace,  // all: its kernels run in this process
  kSystemSvm,  // all: fine-grain system SVM
};

// How Shape::kGroup is launched; the table in device.cpp has a row for each make of GPU.
struct GroupShape {
  std::size_t lanes = 256;           // a work-group, which folds a slice
  std::uint32_t loads = 4;           // of 16 bytes, that a lane has in flight
  std::uint32_t slices_a_unit = 16;  // that a large tensor is cut into for each compute unit, at least
};
// The row for a vendor, given CL_DEVICE_VENDOR.
GroupShape group_shape(std::string_view vendor);

struct Device {
  cl::Device device;
  DeviceInfo info;
  bool is_cpu = false;
  bool is_slower_than_host = false;  // it is the CPU; TENSORSTAT_CL_AUTO=1 has `auto` use it all the same
  int rank = 0;                      // a GPU before an accelerator before a CPU
  bool fp64 = false;                 // TENSORSTAT_CL_FP64=0 does without
  // In a QueueContext: it reads host memory in place. TENSORSTAT_CL_ZERO_COPY=0 has it uploaded all the same; a device
  // that does not follow pointers shares only with =1.
  bool shares_host_memory = false;
  bool float_subnormals = false;  // kept when a float32 is read
  std::uint32_t compute_units = 1;
  std::uint64_t largest_buffer_bytes = 0;
  Shape shape = Shape::kSlice;
  std::size_t group_size = 1;  // work-items a slice
  Pointers pointers = Pointers::kNone;

  bool follows_any_pointer() const { return pointers >= Pointers::kSameSpace; }
  GroupShape group;       // of Shape::kGroup
  std::uint32_t ptx = 0;  // 10 * major + minor of an NVIDIA GPU's compute capability; TENSORSTAT_CL_PTX=0 does without
};

// Whether this is a forked child of a process that used OpenCL through this library. A driver may hang in such a child
// for ever, as pocl does, so no driver is called there. The first call counts as a use.
bool forked_since_first_use();

struct KernelKind;

// All devices of all platforms, in clinfo's order. Empty if there is no OpenCL, and in a forked child. Signal handlers
// that the driver replaces are restored; those that the application installs meanwhile stay (signal_guard.hpp). If a
// platform's driver fails its trial (kernels-cl/trial/driver_trial.hpp), the platform is one device without a handle,
// with the reason. `soon`: the kernel that the caller is about to use is tried in the same process.
std::vector<Device> find_devices(const KernelKind* soon = nullptr);

// The device that the options name, or else the best usable one. A GPU comes before an accelerator, and that before a
// CPU. Among equals the one with more memory comes first.
Result<Device> choose_device(const MeterOptions& options, const KernelKind* soon = nullptr);

// The device of a caller's queue. It may be any device.
Result<Device> describe(const cl::Device& device);

}  // namespace tensorstat::cl_engine
