// `tensorstat devices`
#pragma once

#include <string>

namespace tensorstat::cli {

// A line for each OpenCL device, numbered as --device wants it, and why one is not used.
std::string device_list();

}  // namespace tensorstat::cli
