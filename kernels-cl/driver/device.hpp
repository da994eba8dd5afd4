// Finding a device, and what the engine needs to know of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tensorstat/meter.hpp>
#include <tensorstat/status.hpp>
#include <vector>

#include "kernels-cl/driver/cl.hpp"

namespace tensorstat::cl_engine {

// The kernel's shape; kernels-cl/cl/vectors.cl says what they are.
enum class Shape : std::uint8_t { kSlice, kGroup };

// Which of the host's pointers a device follows as they are; kernels-cl/driver/host_pointers.hpp finds out.
enum class Pointers : std::uint8_t {
  kNone,       // it sees memory through a cl_mem alone
  kSvm,        // those of shared virtual memory
  kSameSpace,  // all: its kernels run in this process
  kSystemSvm,  // all: fine-grain system SVM
};

// How Shape::kGroup is launched; the table in device.cpp has a row for each make of GPU.
struct GroupShape {
  std::size_t lanes = 256;           // a work-group, which folds a slice
  std::uint32_t loads = 4;           // of 16 bytes, that a lane has in flight
  std::uint32_t slices_a_unit = 16;  // that a large tensor is cut into for each compute unit, at least
};
// Of the device's vendor, as CL_DEVICE_VENDOR tells it.
GroupShape group_shape(std::string_view vendor);

struct Device {
  cl::Device device;
  DeviceInfo info;
  bool is_cpu = false;
  bool is_slower_than_host = false;  // it is the CPU; TENSORSTAT_CL_AUTO=1 has `auto` use it all the same
  int rank = 0;                      // a GPU before an accelerator before a CPU
  bool fp64 = false;                 // TENSORSTAT_CL_FP64=0 does without
  bool shares_host_memory = false;   // TENSORSTAT_CL_ZERO_COPY=0 has it uploaded all the same
  bool float_subnormals = false;     // kept when a float32 is read
  std::uint32_t compute_units = 1;
  std::uint64_t largest_buffer_bytes = 0;
  Shape shape = Shape::kSlice;
  std::size_t group_size = 1;  // work-items a slice
  Pointers pointers = Pointers::kNone;

  bool follows_any_pointer() const { return pointers >= Pointers::kSameSpace; }
  GroupShape group;       // of Shape::kGroup
  std::uint32_t ptx = 0;  // 10 * major + minor of an NVIDIA GPU's compute capability; TENSORSTAT_CL_PTX=0 does without
};

// Whether this is the child of a process in which OpenCL was used through this library. A driver may hang
// in such a child for ever (pocl does), so nothing is asked of it there. The first call counts as a use.
bool forked_since_first_use();

// Every device of every platform, in clinfo's order. Empty when there is no OpenCL at all. Signal handlers that the
// driver replaces are put back; those that the application installs meanwhile stay (signal_guard.hpp).
// Empty in a forked child, too. A platform whose driver does not survive its trial
// (kernels-cl/trial/driver_trial.hpp) stands there as one device without a handle, with the refusal.
std::vector<Device> find_devices();

// The device that the options name; else the best usable one: a GPU before an accelerator before a CPU,
// the one with more memory first.
Result<Device> choose_device(const MeterOptions& options);

// The device of a caller's queue, which may be any.
Result<Device> describe(const cl::Device& device);

}  // namespace tensorstat::cl_engine
