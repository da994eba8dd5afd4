#include "kernels-cl/device.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <csignal>
#include <cstdlib>
#include <string_view>

namespace tensorstat {
namespace cl_engine {
namespace {

// Puts every signal's disposition back when it goes.
class SignalGuard {
 public:
  SignalGuard() {
    for (int signal = 1; signal < NSIG; ++signal) {
      known_[static_cast<std::size_t>(signal)] =
          sigaction(signal, nullptr, &saved_[static_cast<std::size_t>(signal)]) == 0;
    }
  }
  ~SignalGuard() {
    for (int signal = 1; signal < NSIG; ++signal) {
      if (known_[static_cast<std::size_t>(signal)]) {
        sigaction(signal, &saved_[static_cast<std::size_t>(signal)], nullptr);
      }
    }
  }
  SignalGuard(const SignalGuard&) = delete;
  SignalGuard& operator=(const SignalGuard&) = delete;

 private:
  std::array<struct sigaction, NSIG> saved_{};
  std::array<bool, NSIG> known_{};
};

bool has(const std::string& extensions, std::string_view name) {
  return (" " + extensions + " ").find(" " + std::string(name) + " ") != std::string::npos;
}

// Some drivers end their texts with a NUL or spaces.
std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\0' || text.back() == ' ')) text.pop_back();
  return text;
}

std::string_view environment(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

// Which shape suits, by kind of device. TENSORSTAT_CL_SHAPE=slice|group forces one.
void choose_shape(Device& found, bool int64_atomics) {
  const std::string_view forced = environment("TENSORSTAT_CL_SHAPE");
  const bool group = forced == "group" || (forced != "slice" && !found.is_cpu);
  if (!group || !int64_atomics) return;
  found.shape = Shape::kGroup;
  found.group_size =
      std::bit_floor(std::clamp<std::size_t>(found.device.getInfo<CL_DEVICE_MAX_WORK_GROUP_SIZE>(), 1, 256));
}

Device describe_one(const cl::Device& device) {
  Device found;
  found.device = device;
  DeviceInfo& info = found.info;
  info.name = trimmed(device.getInfo<CL_DEVICE_NAME>());
  info.driver = trimmed(device.getInfo<CL_DRIVER_VERSION>());
  info.platform_name = trimmed(cl::Platform(device.getInfo<CL_DEVICE_PLATFORM>()).getInfo<CL_PLATFORM_NAME>());
  info.memory_bytes = device.getInfo<CL_DEVICE_GLOBAL_MEM_SIZE>();
  const std::string extensions = device.getInfo<CL_DEVICE_EXTENSIONS>();
  info.fp64 = found.fp64 = has(extensions, "cl_khr_fp64") && environment("TENSORSTAT_CL_FP64") != "0";
  found.is_cpu = (device.getInfo<CL_DEVICE_TYPE>() & CL_DEVICE_TYPE_CPU) != 0;
  found.shares_host_memory = device.getInfo<CL_DEVICE_HOST_UNIFIED_MEMORY>() != CL_FALSE &&
                             environment("TENSORSTAT_CL_ZERO_COPY") != "0";
  found.float_subnormals = (device.getInfo<CL_DEVICE_SINGLE_FP_CONFIG>() & CL_FP_DENORM) != 0;
  found.compute_units = std::max<cl_uint>(1, device.getInfo<CL_DEVICE_MAX_COMPUTE_UNITS>());
  found.largest_buffer_bytes = device.getInfo<CL_DEVICE_MAX_MEM_ALLOC_SIZE>();
  choose_shape(found, has(extensions, "cl_khr_int64_base_atomics") && has(extensions, "cl_khr_int64_extended_atomics"));
  if (device.getInfo<CL_DEVICE_AVAILABLE>() == CL_FALSE) info.refusal = "the driver says that it is not available";
  if (device.getInfo<CL_DEVICE_COMPILER_AVAILABLE>() == CL_FALSE) info.refusal = "it has no compiler for OpenCL C";
  if (device.getInfo<CL_DEVICE_ENDIAN_LITTLE>() == CL_FALSE) info.refusal = "it is big-endian";
  return found;
}

int rank(const Device& device) {
  const cl_device_type type = device.device.getInfo<CL_DEVICE_TYPE>();
  return (type & CL_DEVICE_TYPE_GPU) != 0 ? 2 : (type & CL_DEVICE_TYPE_ACCELERATOR) != 0 ? 1 : 0;
}

}  // namespace

std::vector<Device> find_devices() {
  const SignalGuard guard;
  std::vector<Device> all;
  std::vector<cl::Platform> platforms;
  if (cl::Platform::get(&platforms) != CL_SUCCESS) return all;
  for (std::size_t p = 0; p < platforms.size(); ++p) {
    std::vector<cl::Device> devices;
    if (platforms[p].getDevices(CL_DEVICE_TYPE_ALL, &devices) != CL_SUCCESS) continue;
    for (std::size_t d = 0; d < devices.size(); ++d) {
      all.push_back(describe_one(devices[d]));
      all.back().info.platform = static_cast<int>(p);
      all.back().info.device = static_cast<int>(d);
    }
  }
  return all;
}

Result<Device> choose_device(const MeterOptions& options) {
  const std::vector<Device> all = find_devices();
  if (all.empty()) return Error{Code::kDevice, "no OpenCL platform has a device (is an ICD such as pocl-opencl-icd installed?)"};
  if (options.platform >= 0) {
    for (const Device& each : all) {
      if (each.info.platform == options.platform && each.info.device == std::max(0, options.device)) {
        if (!each.info.refusal.empty()) return Error{Code::kDevice, each.info.name + ": " + each.info.refusal};
        return each;
      }
    }
    return Error{Code::kDevice, "there is no OpenCL device " + std::to_string(options.platform) + ":" +
                                    std::to_string(std::max(0, options.device)) + "; `tensorstat devices` lists them"};
  }
  const Device* best = nullptr;
  for (const Device& each : all) {
    if (!each.info.refusal.empty()) continue;
    if (best == nullptr || rank(each) > rank(*best) ||
        (rank(each) == rank(*best) && each.info.memory_bytes > best->info.memory_bytes)) {
      best = &each;
    }
  }
  if (best == nullptr) return Error{Code::kDevice, all[0].info.name + ": " + all[0].info.refusal};
  return *best;
}

Result<Device> describe(const cl::Device& device) {
  Device found = describe_one(device);
  if (!found.info.refusal.empty()) return Error{Code::kDevice, found.info.name + ": " + found.info.refusal};
  return found;
}

}  // namespace cl_engine

std::vector<DeviceInfo> list_devices() {
  std::vector<DeviceInfo> infos;
  for (const cl_engine::Device& each : cl_engine::find_devices()) infos.push_back(each.info);
  return infos;
}

}  // namespace tensorstat
