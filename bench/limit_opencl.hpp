// The limit of an OpenCL device: a kernel that only reads the same bytes.
#pragma once

#include "bench/limit_host.hpp"

namespace tensorstat::bench {

// Uses the engine's default device, which must share the host's memory, and reads in place with the fastest of a few
// launch shapes. Throws if there is no such device, a call fails, or the exclusive-or of all words is wrong.
Limit fastest_opencl_read(std::span<const std::byte> bytes);

}  // namespace tensorstat::bench
