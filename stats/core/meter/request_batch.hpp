// Runs one request for a batch of tensors, from placement to the results of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <tensorstat/meter.hpp>
#include <vector>

#include "stats/core/meter/placed_batch.hpp"

namespace tensorstat {

class RequestBatch {
 public:
  // Receives the results of a tensor in one call or two: statistics and digests may come separately, and `wanted` says
  // which ones these are. Called on any thread, for different tensors at once. Must not throw.
  using Put = std::function<void(std::size_t tensor, const TensorResult& outcome, const Wanted& wanted)>;

  // Everything passed by reference must outlive this. `wanted` is wanted_by(request).
  RequestBatch(Meter::State& meter, std::span<const Tensor> tensors, const Request& request, const Wanted& wanted,
               Put put);

  // Call it once.
  Status run();

  // After run(): where each tensor was measured.
  PlacedBatch& placed() { return placed_; }

 private:
  Wanted digests() const { return {wanted_.precision, static_cast<Needs>(wanted_.needs & kDigests), false}; }
  Result<std::uint64_t> fold_on_device(std::span<const std::size_t> whose);
  std::size_t at_once(std::span<const std::size_t> whose) const;
  Status pass_on_host();
  Status pass_over_all();
  void pass_over(const std::vector<std::size_t>& whose, const Wanted& wanted);
  Status read_back(std::size_t tensor);

  Meter::State& meter_;
  const std::span<const Tensor> tensors_;
  const Wanted& wanted_;
  const Put put_;
  PlacedBatch placed_;
};

}  // namespace tensorstat
