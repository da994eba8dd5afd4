// `tensorstat devices`: what there is to compute on.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <tensorstat/meter.hpp>
#include <tensorstat/status.hpp>

namespace tensorstat::cli {

struct DevicesArguments {
  bool json = false;
};

// Adds the subcommand to `app`; what it is given goes to `arguments`, which outlives the parsing.
CLI::App* add_devices_command(CLI::App& app, DevicesArguments& arguments);

// "0:1" into the options' platform and device.
Status name_device(const std::string& text, MeterOptions& options);

// A line for each OpenCL device, numbered as --device wants it, and why one is not used; or JSON.
std::string device_list(const DevicesArguments& arguments);

}  // namespace tensorstat::cli
