// Decides whether a request for tensors from files runs on the host.
#pragma once

#include <optional>
#include <span>
#include <tensorstat/meter.hpp>

namespace tensorstat {

// Places one trial tensor that is large enough for a device. The answer holds for all tensors of the request.
class HostPlace {
 public:
  HostPlace(Meter& meter, const Request& request) : meter_(meter), request_(request) {}

  bool is_host();

  // The placement of every tensor. Valid after is_host() returned true.
  std::span<const Decision> decisions() const { return (*placed_)[0].placement; }

 private:
  Meter& meter_;
  const Request& request_;
  bool is_known_ = false;
  std::optional<Measurements> placed_;
};

}  // namespace tensorstat
