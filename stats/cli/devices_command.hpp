// `tensorstat devices`: what there is to compute on.
#pragma once

#include <cstdint>
#include <string>
#include <tensorstat/meter.hpp>
#include <tensorstat/status.hpp>

#include "stats/cli/options/app.hpp"

namespace tensorstat::cli {

struct DevicesArguments {
  bool json = false;
  bool check = false;
  std::string only;  // "0:1"; empty: every device
  std::uint64_t check_bytes = std::uint64_t{64} << 20;
};

// Adds the subcommand to `app`; what it is given goes to `arguments`, which outlives the parsing.
CLI::App* add_devices_command(CLI::App& app, DevicesArguments& arguments);

// "0:1" into the options' platform and device.
Status name_device(const std::string& text, MeterOptions& options);

// A line for each OpenCL device, numbered as --device wants it, and why one is not used; or JSON. With --check, also
// whether it computes the host's bits, and how fast it is.
struct DeviceList {
  std::string text;
  bool passed = true;  // no device failed its check
};
Result<DeviceList> device_list(const DevicesArguments& arguments);

}  // namespace tensorstat::cli
