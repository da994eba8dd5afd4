#include "stats/cli/devices.hpp"

#include <tensorstat/meter.hpp>

namespace tensorstat::cli {
namespace {

std::string memory(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

}  // namespace

std::string device_list() {
  std::string text;
  for (const DeviceInfo& info : list_devices()) {
    text += std::to_string(info.platform) + ":" + std::to_string(info.device) + "  " + info.name +
            "\n     " + info.platform_name + ", driver " + info.driver + ", " +
            memory(info.memory_bytes) + (info.fp64 ? ", fp64" : ", no fp64") + "\n";
    if (!info.refusal.empty()) text += "     not used: " + info.refusal + "\n";
  }
  if (text.empty()) text = "no OpenCL device: everything is computed on the host\n";
  return text;
}

}  // namespace tensorstat::cli
