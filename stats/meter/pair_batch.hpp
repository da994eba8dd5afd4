// Runs one request for a batch of pairs, from placement to partials.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tensorstat/meter.hpp>
#include <vector>

#include "stats/meter/meter_state.hpp"

namespace tensorstat {

class PairBatch {
 public:
  // Everything passed by reference must outlive this. The partials must be empty.
  PairBatch(Meter::State& meter, std::span<const TensorPair> pairs, const PairRequest& request,
            std::vector<PairPartial>& partials);

  // Call it once.
  Status run();

  // After run(): where each pair was compared.
  std::vector<PairPlacement> placements() const;

 private:
  bool on_device(std::size_t pair) const { return placements_[placement_of_[pair]].on_device; }
  Status place();
  Status compare_on_device();
  Result<std::string> compare_on_device(std::span<const std::size_t> whose, std::uint64_t& held_bytes);
  Status compare_on_host();
  Status read_back(std::size_t pair);

  Meter::State& meter_;
  const std::span<const TensorPair> pairs_;
  const PairRequest& request_;
  std::vector<PairPartial>& partials_;
  const Request placed_as_;
  std::vector<std::uint32_t> placement_of_;
  std::vector<Placement> placements_;
};

}  // namespace tensorstat
