// Runs one request for a batch of tensors, from placement to the results of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <tensorstat/meter.hpp>
#include <vector>

#include "stats/meter/meter_state.hpp"

namespace tensorstat {

// What a request computes for each tensor.
Wanted wanted_by(const Request& request);

class RequestBatch {
 public:
  // Receives the results of a tensor in one call or two: statistics and digests may come separately, and `wanted` says
  // which ones these are. Called on any thread, for different tensors at once. Must not throw.
  using Put = std::function<void(std::size_t tensor, const Found& found, const Wanted& wanted)>;

  // Everything passed by reference must outlive this. `wanted` is wanted_by(request).
  RequestBatch(Meter::State& meter, std::span<const Tensor> tensors, const Request& request, const Wanted& wanted,
               Put put);

  // Call it once.
  Status run();

  // After run(): the distinct placements, and for each tensor the index of its placement; no indices if there is only
  // one.
  std::span<const Placement> placements() const { return several_.empty() ? std::span(&one_, 1) : several_; }
  std::vector<std::uint32_t>& placement_of() { return placement_of_; }

 private:
  bool on_device(std::size_t tensor) const {
    return placements()[placement_of_.empty() ? 0 : placement_of_[tensor]].on_device;
  }
  Status place(std::uint64_t total_bytes);
  Status fold_on_device();
  Result<std::string> fold_on_device(std::span<const std::size_t> whose, const Wanted& statistics,
                                     std::uint64_t& held_bytes);
  std::size_t at_once(std::span<const std::size_t> whose) const;
  void move_to_host(std::span<const std::size_t> whose, const std::string& reason);
  Status pass_on_host();
  Status pass_over_all();
  void pass_over(const std::vector<std::size_t>& whose, const Wanted& wanted);
  Status read_back(std::size_t tensor);

  Meter::State& meter_;
  const std::span<const Tensor> tensors_;
  const Request& request_;
  const Wanted& wanted_;
  const Put put_;
  std::vector<std::uint32_t> placement_of_;
  Placement one_;                   // of all tensors, if `several_` is empty
  std::vector<Placement> several_;  // or a single one, if each tensor had to be placed
};

}  // namespace tensorstat
