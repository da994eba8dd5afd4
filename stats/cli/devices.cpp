#include "stats/cli/devices.hpp"

#include <charconv>
#include <nlohmann/json.hpp>
#include <string_view>

namespace tensorstat::cli {
namespace {

std::string memory(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

bool parse_number(std::string_view digits, int& number) {
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc() && end == digits.data() + digits.size() && number >= 0;
}

// A device as a program reads it; `refusal` is null where the device is used.
nlohmann::ordered_json as_json(const DeviceInfo& info) {
  return {{"platform", info.platform},
          {"device", info.device},
          {"name", info.name},
          {"platform_name", info.platform_name},
          {"driver", info.driver},
          {"memory_bytes", info.memory_bytes},
          {"fp64", info.fp64},
          {"refusal", info.refusal.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(info.refusal)}};
}

}  // namespace

CLI::App* add_devices_command(CLI::App& app, DevicesArguments& arguments) {
  CLI::App* devices =
      app.add_subcommand("devices", "List the OpenCL platforms and devices, and what bars one from use");
  devices->add_flag("--json", arguments.json, "As JSON: a list of objects");
  return devices;
}

Status name_device(const std::string& text, MeterOptions& options) {
  const std::string_view view = text;
  const std::size_t colon = view.find(':');
  if (colon != view.npos && parse_number(view.substr(0, colon), options.platform) &&
      parse_number(view.substr(colon + 1), options.device)) {
    return {};
  }
  return Error{Code::kInvalid, "'" + text + "' is not PLATFORM:DEVICE, such as 0:0"};
}

std::string device_list(const DevicesArguments& arguments) {
  const std::vector<DeviceInfo> found = list_devices();
  if (arguments.json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const DeviceInfo& info : found) list.push_back(as_json(info));
    return list.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  }
  std::string text;
  for (const DeviceInfo& info : found) {
    text += std::to_string(info.platform) + ":" + std::to_string(info.device) + "  " + info.name +
            "\n     " + info.platform_name + ", driver " + info.driver + ", " +
            memory(info.memory_bytes) + (info.fp64 ? ", fp64" : ", no fp64") + "\n";
    if (!info.refusal.empty()) text += "     not used: " + info.refusal + "\n";
  }
  if (text.empty()) text = "no OpenCL device: everything is computed on the host\n";
  return text;
}

}  // namespace tensorstat::cli
