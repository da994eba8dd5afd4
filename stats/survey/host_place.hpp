// Whether a request about tensors that are read from files is one for the host.
#pragma once

#include <optional>
#include <span>
#include <tensorstat/meter.hpp>

namespace tensorstat {

// Asked once, of a tensor that is large enough for a device to be thought of: what is said of that holds for all.
class HostPlace {
 public:
  HostPlace(Meter& meter, const Request& request) : meter_(meter), request_(request) {}

  bool is_host();

  // Where and why, of every tensor. After is_host() has said yes.
  std::span<const Decision> decisions() const { return (*placed_)[0].placement; }

 private:
  Meter& meter_;
  const Request& request_;
  bool is_known_ = false;
  std::optional<Measurements> placed_;
};

}  // namespace tensorstat
