// Placement: where a tensor's statistics are computed, and why, in words a person can read.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tensorstat/meter.hpp>

#include "stats/engine/engine.hpp"
#include "stats/engine/reason.hpp"

namespace tensorstat {

struct Placement {
  bool on_device = false;
  Reason reason;
  std::uint64_t device_bytes = 0;  // the most that folding held at a time; known afterwards
  friend bool operator==(const Placement&, const Placement&) = default;
};

// What placement needs to know of the device. `find` may be slow once (a driver is loaded) and is
// called only where a device is wanted; nullptr says there is none, and `trouble` why.
struct DeviceSight {
  std::function<DeviceEngine*()> find;
  std::function<std::string()> trouble;
  // Why On::kAuto leaves host memory to the host, without a look at the device; empty: that is to be looked at.
  std::function<const std::string&()> host_memory_stays;
};

// A request whose tensors are in host memory and come to fewer bytes than this runs on the host:
// launching, and waiting for, a kernel costs more than the pass itself.
inline constexpr std::uint64_t kWorthALaunchBytes = std::uint64_t{1} << 20;

// Why the host has all tensors of a request of which none is in device memory, whatever they are; nullptr where each has to
// be placed.
const char* why_all_on_host(const Request& request, std::uint64_t request_bytes);

// Places the tensors of one request. Tensors that are placed alike, for the same reason, share a Placement:
// for most requests there is one, and a tensor costs a comparison.
class Placements {
 public:
  // `request_bytes` is the size of the whole batch; what is passed by reference outlives this.
  Placements(const Request& request, std::uint64_t request_bytes, const Engine& host, DeviceSight device)
      : request_(request), request_bytes_(request_bytes), host_(host), device_(std::move(device)) {}

  // Where the accumulators of `tensor` are computed, as an index into all(). An error where the request
  // insists on a device that cannot.
  Result<std::uint32_t> place(const Tensor& tensor);

  // The same of two tensors that are compared. They are in device memory where one of them is.
  Result<std::uint32_t> place(const TensorPair& pair);

  std::vector<Placement>& all() { return all_; }

 private:
  // The last answer for a tensor in such memory: `refusal` is the device's, none where it was not asked.
  struct Known {
    std::optional<std::string> refusal;
    std::uint32_t placement;
  };

  bool considers_device(Where where) const;
  template <typename RefusalOf>
  Result<std::uint32_t> place_in(Where where, const RefusalOf& refusal_of);
  std::uint32_t index_of(Placement placement);
  Result<Placement> decide(Where where, const std::optional<std::string>& refusal, bool host_can);

  const Request& request_;
  const std::uint64_t request_bytes_;
  const Engine& host_;
  const DeviceSight device_;
  std::optional<DeviceEngine*> engine_;  // once it has been looked for
  std::array<std::optional<Known>, 3> known_;  // by Where
  std::optional<std::uint32_t> stays_;  // the placement of host memory that the device is not asked about
  std::vector<Placement> all_;
};

}  // namespace tensorstat
