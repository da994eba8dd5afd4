#include "stats/placement.hpp"

namespace tensorstat {
namespace {

std::string kib(std::uint64_t bytes) { return std::to_string(bytes / 1024) + " KiB"; }

}  // namespace

Result<Placement> place(const Tensor& tensor, const Request& request, std::uint64_t request_bytes,
                        const Engine& host, const DeviceSight& device) {
  const bool host_can = host.refusal(tensor, request.precision).empty();
  if (request.on == On::kHost) {
    return Placement{false, host_can ? "asked for" : "asked for; read back from the device"};
  }
  const bool in_device_memory = tensor.where == Where::kClBuffer;
  if (request.on == On::kAuto && !in_device_memory && request_bytes < kWorthALaunchBytes) {
    return Placement{false, kib(request_bytes) + " in host memory: less than a launch is worth"};
  }
  DeviceEngine* engine = device.find();
  const std::string refusal = engine == nullptr ? device.trouble() : engine->refusal(tensor, request.precision);
  if (request.on == On::kDevice) {
    if (!refusal.empty()) return Error{Code::kDevice, "the device cannot do it: " + refusal};
    return Placement{true, "asked for"};
  }
  if (!refusal.empty()) {
    return Placement{false, in_device_memory ? "read back from the device: " + refusal : refusal};
  }
  if (in_device_memory) return Placement{true, "the tensor is in its memory"};
  if (!engine->shares_host_memory()) {
    return Placement{false, "the tensor is in host memory: reading it here is faster than uploading it"};
  }
  return Placement{true, "it shares the tensor's memory: nothing is copied"};
}

}  // namespace tensorstat
