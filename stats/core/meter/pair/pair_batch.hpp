// Runs one request for a batch of pairs, from placement to partials.
#pragma once

#include <cstddef>
#include <span>
#include <tensorstat/meter.hpp>
#include <vector>

#include "stats/core/meter/placed_batch.hpp"

namespace tensorstat {

class PairBatch {
 public:
  // Everything passed by reference must outlive this. The partials must be empty.
  PairBatch(Meter::State& meter, std::span<const TensorPair> pairs, const PairRequest& request,
            std::span<PairPartial> partials);

  // Call it once.
  Status run();

  // After run(): where each pair was compared.
  std::vector<PairPlacement> placements() const;

 private:
  std::vector<PairJob> jobs(std::span<const std::size_t> whose) const;
  Status compare_on_host();
  Status read_back(std::size_t pair);

  Meter::State& meter_;
  const std::span<const TensorPair> pairs_;
  const PairRequest& request_;
  const std::span<PairPartial> partials_;
  const Request placed_as_;
  PlacedBatch placed_;
};

}  // namespace tensorstat
