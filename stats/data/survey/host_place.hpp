// Decides whether a request for tensors from files runs on the host.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <tensorstat/meter.hpp>

namespace tensorstat {

// Places one trial tensor of a dtype, large enough for a device. The answer holds for all tensors of the dtype in the
// request. A device builds no kernel for it that the tensors do not need. The references must outlive it.
class HostPlace {
 public:
  HostPlace(Meter& meter, const Request& request) : meter_(meter), request_(request) {}

  bool is_host(Dtype dtype);

  // The placement of every tensor of the dtype. Valid after is_host(dtype) returned true.
  std::span<const Decision> decisions(Dtype dtype) const { return (*placed_.at(dtype))[0].placement; }

 private:
  Meter& meter_;
  const Request& request_;
  std::map<Dtype, std::optional<Measurements>> placed_;  // nullopt: not on the host
};

}  // namespace tensorstat
