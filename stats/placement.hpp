// Placement: where a tensor's statistics are computed, and why, in words a person can read.
#pragma once

#include <functional>
#include <string>

#include <tensorstat/meter.hpp>

#include "stats/engine.hpp"

namespace tensorstat {

struct Placement {
  bool on_device = false;
  std::string reason;
};

// What placement needs to know of the device. `find` may be slow once (a driver is loaded) and is
// called only where a device is wanted; nullptr says there is none, and `trouble` why.
struct DeviceSight {
  std::function<DeviceEngine*()> find;
  std::function<std::string()> trouble;
};

// A request whose tensors are in host memory and come to fewer bytes than this runs on the host:
// launching, and waiting for, a kernel costs more than the pass itself.
inline constexpr std::uint64_t kWorthALaunchBytes = std::uint64_t{1} << 20;

// Where the accumulators of `tensor` are computed. `request_bytes` is the size of the whole batch.
// An error where the request insists on a device that cannot.
Result<Placement> place(const Tensor& tensor, const Request& request, std::uint64_t request_bytes,
                        const Engine& host, const DeviceSight& device);

}  // namespace tensorstat
