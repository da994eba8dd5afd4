// One request over a batch of tensors, from placement to values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <tensorstat/meter.hpp>

#include "stats/core/measured.hpp"
#include "stats/core/meter_state.hpp"

namespace tensorstat {

class RequestBatch {
 public:
  RequestBatch(Meter::State& meter, std::span<const Tensor> tensors, const Request& request);

  // Once.
  Result<Measurements> measure();

 private:
  bool on_device(std::size_t tensor) const { return placements_[placement_of_[tensor]].on_device; }
  Status place();
  Status fold_on_device();
  Status pass_on_host();
  void pass_over(const std::vector<std::size_t>& whose, const Wanted& wanted);
  Status read_back(std::size_t tensor);
  void put(std::size_t tensor, const Found& found, const Wanted& wanted);

  Meter::State& meter_;
  const std::span<const Tensor> tensors_;
  const Request& request_;
  const Wanted wanted_;
  std::unique_ptr<Measurements::State> results_;
  std::vector<std::uint32_t> placement_of_;
  std::vector<Placement> placements_;
};

}  // namespace tensorstat
