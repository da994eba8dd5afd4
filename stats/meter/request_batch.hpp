// One request over a batch of tensors, from placement to what was found of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <tensorstat/meter.hpp>

#include "stats/meter/meter_state.hpp"

namespace tensorstat {

// What a request wants of each tensor.
Wanted wanted_by(const Request& request);

class RequestBatch {
 public:
  // Is given what was found of a tensor, in one call or two: statistics and digests may come apart, and `wanted`
  // says which these are. On any thread, different tensors at once; does not throw.
  using Put = std::function<void(std::size_t tensor, const Found& found, const Wanted& wanted)>;

  // What is passed by reference outlives this. `wanted` is what the request wants.
  RequestBatch(Meter::State& meter, std::span<const Tensor> tensors, const Request& request, const Wanted& wanted,
               Put put);

  // Once.
  Status run();

  // Afterwards: the placements that there were, and the index of each tensor's; of one for all, no indices.
  std::span<const Placement> placements() const { return several_.empty() ? std::span(&one_, 1) : several_; }
  std::vector<std::uint32_t>& placement_of() { return placement_of_; }

 private:
  bool on_device(std::size_t tensor) const { return placements()[placement_of_.empty() ? 0 : placement_of_[tensor]].on_device; }
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
  Placement one_;                   // of all tensors, where there are not
  std::vector<Placement> several_;  // or one that was looked for among them
};

}  // namespace tensorstat
