#include "kernels-cl/driver/device.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <string_view>
#include <tensorstat/opencl.hpp>

#include "kernels-cl/driver/opencl.hpp"
#include "kernels-cl/driver/signal_guard.hpp"
#include "kernels-cl/trial/driver_trial.hpp"
#include "kernels-cl/trial/icd_files.hpp"
#include "stats/core/base/process_id.hpp"
#include "stats/core/engine/engine.hpp"

namespace tensorstat {
namespace cl_engine {
namespace {

bool has(const std::string& extensions, std::string_view name) {
  return (" " + extensions + " ").find(" " + std::string(name) + " ") != std::string::npos;
}

// Some drivers append a NUL or spaces to their texts.
std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\0' || text.back() == ' ')) text.pop_back();
  return text;
}

constexpr std::uint64_t kLeastBufferBytes = 1 << 16;

std::string_view environment(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

// Asks a device for a property. Sets `answered` to false if the device does not answer.
template <cl_device_info kWhat>
auto ask(const cl::Device& device, bool& answered) {
  cl_int code = CL_SUCCESS;
  const auto value = device.getInfo<kWhat>(&code);
  answered = answered && code == CL_SUCCESS;
  return code == CL_SUCCESS ? value : decltype(value){};
}

// A row that `bench/gpu --tune` prints for a device, with its source.
struct ShapeRow {
  std::string_view vendor;  // the beginning of CL_DEVICE_VENDOR
  GroupShape shape;
};
constexpr ShapeRow kShapes[] = {
    // H200, driver 580.159.04: 3340 GB/s over float32, bfloat16 and int8 of 1,024 MiB, of 2,704 to 3,399 in other
    // shapes.
    // 4 to 32 slices a unit give 3,354 to 3,360, and 128 give 3,509. Each costs the host some 100 ns.
    {"NVIDIA", {.lanes = 256, .loads = 4, .slices_a_unit = 8}},
    // Not measured. AMD, "Instinct MI200 workload tuning guide": work-groups of a multiple of the wavefront's 64.
    {"Advanced Micro Devices", {.lanes = 256, .loads = 4, .slices_a_unit = 16}},
    {"AMD", {.lanes = 256, .loads = 4, .slices_a_unit = 16}},
    // Not measured. Intel, "oneAPI GPU Optimization Guide": groups that fill a subslice's 8 x 8 threads of SIMD16
    // are a multiple of 128 lanes; its registers hold half of what the others' do.
    {"Intel", {.lanes = 128, .loads = 2, .slices_a_unit = 16}},
};

// Devices whose loops end wrongly, which they do not report. A self-check on a small tensor does not see it.
struct RefusedRow {
  std::string_view name;  // the beginning of CL_DEVICE_NAME
  std::string_view why;
};
constexpr RefusedRow kRefused[] = {
    // Mesa's rusticl on the CPU. kernels-cl/README.md has a kernel for 22.3.6 and one for 25.0.7.
    {"llvmpipe", "its loops run more or fewer rounds than the kernel says (install pocl for the CPU)"},
};

std::string_view refusal_by_name(std::string_view name) {
  for (const RefusedRow& row : kRefused) {
    if (name.starts_with(row.name)) return row.why;
  }
  return "";
}

// The shape for a kind of device. TENSORSTAT_CL_SHAPE=slice|group forces one.
void choose_shape(Device& device, bool int64_atomics, std::size_t largest_group) {
  const std::string_view forced = environment("TENSORSTAT_CL_SHAPE");
  const bool group = forced == "group" || (forced != "slice" && !device.is_cpu);
  if (!group || !int64_atomics) return;
  device.shape = Shape::kGroup;
  device.group_size = std::bit_floor(std::clamp<std::size_t>(largest_group, 1, device.group.lanes));
}

std::uint32_t ptx_version(const cl::Device& device) {
  constexpr cl_device_info kMajor = 0x4000, kMinor = 0x4001;  // of cl_nv_device_attribute_query
  cl_uint major = 0, minor = 0;
  if (environment("TENSORSTAT_CL_PTX") == "0" ||
      clGetDeviceInfo(device(), kMajor, sizeof major, &major, nullptr) != CL_SUCCESS ||
      clGetDeviceInfo(device(), kMinor, sizeof minor, &minor, nullptr) != CL_SUCCESS) {
    return 0;
  }
  return 10 * major + minor;
}

Device describe_one(const cl::Device& device) {
  Device description;
  description.device = device;
  DeviceInfo& info = description.info;
  bool answered = true;
  info.name = trimmed(ask<CL_DEVICE_NAME>(device, answered));
  info.driver = trimmed(ask<CL_DRIVER_VERSION>(device, answered));
  // The bindings answer with a cl_platform_id until 2023, and with a cl::Platform since.
  if (const cl::Platform platform(ask<CL_DEVICE_PLATFORM>(device, answered)); platform() != nullptr) {
    info.platform_name = trimmed(platform.getInfo<CL_PLATFORM_NAME>());
  }
  info.memory_bytes = ask<CL_DEVICE_GLOBAL_MEM_SIZE>(device, answered);
  const std::string extensions = ask<CL_DEVICE_EXTENSIONS>(device, answered);
  info.fp64 = description.fp64 = has(extensions, "cl_khr_fp64") && environment("TENSORSTAT_CL_FP64") != "0";
  const cl_device_type type = ask<CL_DEVICE_TYPE>(device, answered);
  description.is_cpu = (type & CL_DEVICE_TYPE_CPU) != 0;
  description.is_slower_than_host = description.is_cpu && environment("TENSORSTAT_CL_AUTO") != "1";
  description.rank = (type & CL_DEVICE_TYPE_GPU) != 0 ? 2 : (type & CL_DEVICE_TYPE_ACCELERATOR) != 0 ? 1 : 0;
  description.shares_host_memory =
      ask<CL_DEVICE_HOST_UNIFIED_MEMORY>(device, answered) != CL_FALSE && environment("TENSORSTAT_CL_ZERO_COPY") != "0";
  description.float_subnormals = (ask<CL_DEVICE_SINGLE_FP_CONFIG>(device, answered) & CL_FP_DENORM) != 0;
  description.compute_units = std::max<cl_uint>(1, ask<CL_DEVICE_MAX_COMPUTE_UNITS>(device, answered));
  description.largest_buffer_bytes = ask<CL_DEVICE_MAX_MEM_ALLOC_SIZE>(device, answered);
  description.group = group_shape(ask<CL_DEVICE_VENDOR>(device, answered));
  if (has(extensions, "cl_nv_device_attribute_query")) description.ptx = ptx_version(device);
  choose_shape(description,
               has(extensions, "cl_khr_int64_base_atomics") && has(extensions, "cl_khr_int64_extended_atomics"),
               ask<CL_DEVICE_MAX_WORK_GROUP_SIZE>(device, answered));
  info.refusal = refusal_by_name(info.name);
  if (ask<CL_DEVICE_AVAILABLE>(device, answered) == CL_FALSE) info.refusal = "the driver says that it is not available";
  if (ask<CL_DEVICE_COMPILER_AVAILABLE>(device, answered) == CL_FALSE) info.refusal = "it has no compiler for OpenCL C";
  if (ask<CL_DEVICE_ENDIAN_LITTLE>(device, answered) == CL_FALSE) info.refusal = "it is big-endian";
  if (!answered || description.largest_buffer_bytes < kLeastBufferBytes)
    info.refusal = "its driver does not say what it can do";
  return description;
}

// These two calls load a driver and start it, which may replace signal handlers. The result is empty if they fail. The
// drivers were tried (DriversTrial).
std::vector<cl::Platform> platforms_here() {
  const SignalGuard guard(nullptr);
  std::vector<cl::Platform> platforms;
  if (cl::Platform::get(&platforms) != CL_SUCCESS) platforms.clear();
  return platforms;
}

std::vector<cl::Device> devices_of(const cl::Platform& platform) {
  const SignalGuard guard(platform());
  std::vector<cl::Device> devices;
  if (platform.getDevices(CL_DEVICE_TYPE_ALL, &devices) != CL_SUCCESS) devices.clear();
  return devices;
}

// In clinfo's order.
std::string numbers_of(const MeterOptions& options) {
  return std::to_string(options.platform) + ":" + std::to_string(std::max(0, options.device));
}

}  // namespace

GroupShape group_shape(std::string_view vendor) {
  for (const ShapeRow& row : kShapes) {
    if (vendor.starts_with(row.vendor)) return row.shape;
  }
  return {};
}

bool forked_since_first_use() {
  static std::atomic<pid_t> user{0};
  pid_t nobody = 0;
  return !user.compare_exchange_strong(nobody, process_id()) && nobody != process_id();
}

std::vector<Device> find_devices(const KernelKind* soon) {
  if (forked_since_first_use()) return {};
  std::vector<Device> all;
  const DriversTrial trial(soon);
  const std::vector<cl::Platform> platforms = platforms_here();
  for (std::size_t p = 0; p < platforms.size(); ++p) {
    const std::vector<cl::Device> devices = devices_of(platforms[p]);
    for (std::size_t d = 0; d < devices.size(); ++d) {
      all.push_back(describe_one(devices[d]));
      all.back().info.platform = static_cast<int>(p);
      all.back().info.device = static_cast<int>(d);
    }
  }
  int number = static_cast<int>(platforms.size());
  for (const RefusedDriver& each : trial.drivers().refused) {
    DeviceInfo& unseen = all.emplace_back().info;
    unseen.platform = number++;
    unseen.name = each.file.library;
    unseen.platform_name = each.file.path;
    unseen.refusal = each.why;
  }
  return all;
}

Result<Device> choose_device(const MeterOptions& options, const KernelKind* soon) {
  const std::vector<Device> all = find_devices(soon);
  if (all.empty()) {
    const std::string wanted = options.platform < 0 ? "" : "there is no OpenCL device " + numbers_of(options) + ": ";
    return Error{
        Code::kDevice,
        wanted + (forked_since_first_use()
                      ? "the process has forked since OpenCL was in use: a driver's threads do not survive that"
                      : why_no_device())};
  }
  if (options.platform >= 0) {
    for (const Device& each : all) {
      if (each.info.platform == options.platform && each.info.device == std::max(0, options.device)) {
        if (!each.info.refusal.empty()) return Error{Code::kDevice, each.info.name + ": " + each.info.refusal};
        return each;
      }
    }
    return Error{Code::kDevice,
                 "there is no OpenCL device " + numbers_of(options) + "; `tensorstat devices` lists them"};
  }
  const Device* best = nullptr;
  for (const Device& each : all) {
    if (!each.info.refusal.empty()) continue;
    if (best == nullptr || each.rank > best->rank ||
        (each.rank == best->rank && each.info.memory_bytes > best->info.memory_bytes)) {
      best = &each;
    }
  }
  if (best == nullptr) return Error{Code::kDevice, all[0].info.name + ": " + all[0].info.refusal};
  return *best;
}

// Loads the drivers. Reading the names of platforms starts no device.
bool only_pocl_is_found() {
  const DriversTrial trial(nullptr);
  const std::vector<cl::Platform> platforms = platforms_here();
  return !platforms.empty() && std::ranges::all_of(platforms, [](const cl::Platform& platform) {
    return may_kill(trimmed(platform.getInfo<CL_PLATFORM_NAME>()));
  });
}

Result<Device> describe(const cl::Device& device) {
  Device description = describe_one(device);
  if (!description.info.refusal.empty())
    return Error{Code::kDevice, description.info.name + ": " + description.info.refusal};
  return description;
}

}  // namespace cl_engine

std::string why_host_memory_stays(const MeterOptions& options) {
  using namespace cl_engine;
  if (options.queue != nullptr || options.platform >= 0 || environment("TENSORSTAT_CL_AUTO") == "1") return "";
  if (forked_since_first_use()) return "";
  if (!only_pocl_is_installed() && !only_pocl_is_found()) return "";
  return "the only OpenCL driver is pocl, which runs on this CPU, and the host's own loops are faster on it";
}

std::string why_no_device() {
  if (!cl_engine::has_opencl()) {
    return "OpenCL's loader, libOpenCL.so.1, is not installed (Debian: apt-get install ocl-icd-libopencl1, and a "
           "driver such "
           "as pocl-opencl-icd)";
  }
  return "no OpenCL platform has a device (is an ICD such as pocl-opencl-icd installed?)";
}

std::vector<DeviceInfo> list_devices() noexcept try {
  std::vector<DeviceInfo> infos;
  for (const cl_engine::Device& each : cl_engine::find_devices()) infos.push_back(each.info);
  return infos;
} catch (...) {
  return {};
}

}  // namespace tensorstat
