// The limit of an OpenCL device: a kernel that does nothing but read the same bytes.
#pragma once

#include "bench/limit_host.hpp"

namespace tensorstat::bench {

// On the device that the engine takes when left to itself, where it shares the host's memory; in
// place, by the fastest of a few shapes of launch. Throws where there is no such device, or a call
// fails, or the exclusive-or of all words is wrong.
Limit fastest_opencl_read(std::span<const std::byte> bytes);

}  // namespace tensorstat::bench
