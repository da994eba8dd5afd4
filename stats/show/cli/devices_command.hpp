// Finds OpenCL devices by the numbers that `tensorstat devices` shows.
#pragma once

#include <string>
#include <tensorstat/meter.hpp>
#include <tensorstat/status.hpp>

namespace tensorstat::cli {

// Parses "0:1" and sets the options' platform and device.
Status name_device(const std::string& text, MeterOptions& options);

// Fails if no device has these numbers.
Status find_named_device(const MeterOptions& options);

}  // namespace tensorstat::cli
