#include "stats/cli/devices_command.hpp"

#include <CLI/CLI.hpp>
#include <charconv>
#include <optional>
#include <string_view>

#include "stats/cli/device_check.hpp"
#include "stats/json/json_writer.hpp"

namespace tensorstat::cli {
namespace {

std::string memory(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

bool parse_number(std::string_view digits, int& number) {
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc() && end == digits.data() + digits.size() && number >= 0;
}

// A device as a program reads it; `refusal` is null where the device is used.
void append(JsonWriter& json, const DeviceInfo& info, const std::optional<DeviceCheck>& check) {
  json.begin_object().key("platform").value(std::int64_t{info.platform}).key("device").value(std::int64_t{info.device});
  json.key("name").text(info.name).key("platform_name").text(info.platform_name).key("driver").text(info.driver);
  json.key("memory_bytes").number(info.memory_bytes).key("fp64").truth(info.fp64);
  json.key("refusal").text_or_null(info.refusal);
  if (check) {
    json.key("check").begin_object().key("passed").truth(check->passed()).key("tensors").number(check->case_count);
    if (check->passed()) {
      json.key("gb_per_s").value(check->speed.measured_gb_per_s).key("read_gb_per_s").value(check->speed.read_gb_per_s);
    } else {
      json.key("fault").text(check->fault);
    }
    json.end();
  }
  json.end();
}

std::string as_text(const DeviceInfo& info, const std::optional<DeviceCheck>& check) {
  std::string text = std::to_string(info.platform) + ":" + std::to_string(info.device) + "  " + info.name + "\n     " +
                     info.platform_name + ", driver " + info.driver + ", " + memory(info.memory_bytes) +
                     (info.fp64 ? ", fp64" : ", no fp64") + "\n";
  if (!info.refusal.empty()) text += "     not used: " + info.refusal + "\n";
  if (check) text += "     " + sentence_of(*check) + "\n";
  return text;
}

}  // namespace

CLI::App* add_devices_command(CLI::App& app, DevicesArguments& arguments) {
  CLI::App* devices =
      app.add_subcommand("devices", "List the OpenCL platforms and devices, and what bars one from use");
  devices->add_flag("--json", arguments.json, "As JSON: a list of objects");
  CLI::Option* check = devices->add_flag(
      "--check", arguments.check,
      "Prove each device that is used: every dtype's bits against the host's, and GB/s beside a read-only stream. Exit "
      "status 4 where one fails");
  devices->add_option("--device", arguments.only, "Only this one, as numbered here")->type_name("P:D");
  devices->add_option("--bytes", arguments.check_bytes, "Of the tensor whose GB/s --check tells; 64M where not said")
      ->transform(CLI::AsSizeValue(false).description(""))
      ->check(CLI::Range(std::uint64_t{1} << 20, std::uint64_t{1} << 40).description(""))
      ->type_name("BYTES")
      ->needs(check);
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

Result<DeviceList> device_list(const DevicesArguments& arguments) {
  MeterOptions only;
  if (!arguments.only.empty()) {
    if (Status named = name_device(arguments.only, only); !named) return named.error();
  }
  DeviceList list;
  std::string objects;
  JsonWriter json(objects, {.indent = 2});
  json.begin_list();
  bool has_any = false;
  for (const DeviceInfo& info : list_devices()) {
    if (!arguments.only.empty() && (info.platform != only.platform || info.device != only.device)) continue;
    std::optional<DeviceCheck> check;
    if (arguments.check && info.refusal.empty()) {
      check = check_device(info.platform, info.device, arguments.check_bytes / 4096 * 4096);
    }
    list.passed = list.passed && (!check || check->passed());
    list.text += as_text(info, check);
    append(json, info, check);
    has_any = true;
  }
  if (!has_any && !arguments.only.empty()) {
    return Error{Code::kInvalid, "there is no OpenCL device " + arguments.only};
  }
  if (arguments.json) {
    json.end();
    list.text = objects + "\n";
  } else if (!has_any) {
    list.text = "no OpenCL device: everything is computed on the host\n";
  }
  return list;
}

}  // namespace tensorstat::cli
