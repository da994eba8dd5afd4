// `tensorstat devices`: lists the devices that can compute.
#include "stats/show/cli/devices_command.hpp"

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <string_view>
#include <tensorstat/catalog.hpp>
#include <tensorstat/opencl.hpp>
#include <vector>

#include "stats/data/json/json_writer.hpp"
#include "stats/show/cli/device_check.hpp"
#include "stats/show/cli/exit_status.hpp"
#include "stats/show/cli/report/output.hpp"
#include "stats/show/cli/subcommand.hpp"

namespace tensorstat::cli {
namespace {

struct DevicesArguments {
  bool json = false;
  bool check = false;
  std::string only;                 // "0:1"; empty: every device
  std::vector<std::string> dtypes;  // to be checked; empty: every dtype
  std::uint64_t check_bytes = std::uint64_t{64} << 20;
};

// The list as text or JSON: a line for each OpenCL device, with its number for --device, and the reason if it is not
// used. With --check also whether it computes the host's bits, and its speed.
struct DeviceList {
  std::string text;
  bool passed = true;  // no device failed its check
};

std::string memory(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

bool parse_number(std::string_view digits, int& number) {
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc() && end == digits.data() + digits.size() && number >= 0;
}

// A device in JSON. `refusal` is null if the device is used.
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
                     info.platform_name;
  const bool is_loaded = !info.driver.empty() || info.memory_bytes != 0;  // not a driver that failed its trial
  if (is_loaded) {
    text += ", driver " + info.driver + ", " + memory(info.memory_bytes) + (info.fp64 ? ", fp64" : ", no fp64");
  }
  text += "\n";
  if (!info.refusal.empty()) text += "     not used: " + info.refusal + "\n";
  if (check) text += "     " + sentence_of(*check) + "\n";
  return text;
}

}  // namespace

Status name_device(const std::string& text, MeterOptions& options) {
  const std::string_view view = text;
  const std::size_t colon = view.find(':');
  if (colon != view.npos && parse_number(view.substr(0, colon), options.platform) &&
      parse_number(view.substr(colon + 1), options.device)) {
    return {};
  }
  return Error{Code::kInvalid, "'" + text + "' is not PLATFORM:DEVICE, such as 0:0"};
}

Status find_named_device(const MeterOptions& options) {
  const auto is_named = [&](const DeviceInfo& info) {
    return info.platform == options.platform && info.device == options.device;
  };
  if (std::ranges::any_of(list_devices(), is_named)) return {};
  return Error{Code::kInvalid, "there is no OpenCL device " + std::to_string(options.platform) + ":" +
                                   std::to_string(options.device) + "; `tensorstat devices` lists them"};
}

namespace {

// The dtypes with these names; all without a name.
Result<std::vector<Dtype>> dtypes_to_check(const std::vector<std::string>& names) {
  std::vector<Dtype> dtypes;
  for (int i = 0; names.empty() && i < kDtypeCount; ++i) dtypes.push_back(static_cast<Dtype>(i));
  for (const std::string& name : names) {
    const auto dtype = dtype_from(name);
    if (!dtype) return Error{Code::kInvalid, "--dtypes: '" + name + "' is not a dtype, such as float32"};
    dtypes.push_back(*dtype);
  }
  return dtypes;
}

Result<DeviceList> device_list(const DevicesArguments& arguments) {
  MeterOptions only;
  if (!arguments.only.empty()) {
    if (Status named = name_device(arguments.only, only); !named) return named.error();
  }
  const auto dtypes = dtypes_to_check(arguments.dtypes);
  if (!dtypes) return dtypes.error();
  DeviceList list;
  std::string objects;
  JsonWriter json(objects, {.indent = 2});
  json.begin_list();
  bool has_any = false;
  for (const DeviceInfo& info : list_devices()) {
    if (!arguments.only.empty() && (info.platform != only.platform || info.device != only.device)) continue;
    std::optional<DeviceCheck> check;
    if (arguments.check && info.refusal.empty()) {
      check = check_device(info.platform, info.device, arguments.check_bytes / 4096 * 4096, *dtypes);
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
    list.text = "no OpenCL device: everything is computed on the host\n" + why_no_device() + "\n";
  }
  return list;
}

}  // namespace

Subcommand devices_command(App command) {
  const auto arguments = std::make_shared<DevicesArguments>();
  App devices = command.add_subcommand("devices", "List the OpenCL platforms and devices, and why one is not used");
  devices.add_flag("--json", arguments->json, "As JSON: a list of objects");
  Option check = devices.add_flag(
      "--check", arguments->check,
      "Check each device that is used: every dtype's bits against the host's, and GB/s beside a read-only stream. Exit "
      "status 4 if one fails");
  devices.add_option("--device", arguments->only, "Only this device, as numbered here").type_name("P:D");
  devices.add_option("--bytes", arguments->check_bytes, "Size of the tensor for the GB/s of --check; by default 64M")
      .as_size()
      .between(std::uint64_t{1} << 20, std::uint64_t{1} << 40)
      .type_name("BYTES")
      .needs(check);
  devices.add_option("--dtypes", arguments->dtypes, "Check only these, such as float32,int8: each is a kernel to build")
      .delimiter(',')
      .type_name("NAME,...")
      .needs(check);
  return {devices, [arguments](Console& console) {
            const auto list = device_list(*arguments);
            if (!list) return console.say(list.error().message), int{kUsage};
            return write_out("", list->text, list->passed ? kDone : kNoDevice, console);
          }};
}

}  // namespace tensorstat::cli
