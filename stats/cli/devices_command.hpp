// OpenCL devices by the numbers that `tensorstat devices` gives them.
#pragma once

#include <string>
#include <tensorstat/meter.hpp>
#include <tensorstat/status.hpp>

namespace tensorstat::cli {

// "0:1" into the options' platform and device.
Status name_device(const std::string& text, MeterOptions& options);

// Whether there is a device of these numbers.
Status find_named_device(const MeterOptions& options);

}  // namespace tensorstat::cli
