// Where `tensorstat attach` finds its OpenCL layer.
#pragma once

#include <string>
#include <tensorstat/status.hpp>

namespace tensorstat::cli {

// The path of the layer: beside the program, where an installation has moved; else where it was configured.
Result<std::string> find_layer();

}  // namespace tensorstat::cli
