// The shard of a DTensor in a pickle.
// Sources: torch/distributed/tensor/_dtensor_spec.py, placement_types.py; torch/distributed/device_mesh.py
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "stats/data/files/torch/pickle.hpp"

namespace tensorstat {

struct TorchShard {
  std::uint32_t local;    // the node of _local_tensor
  std::string placement;  // "Shard(dim=0) over dp, Replicate() over tp, of shape (6,4)": where it lies in the whole
};

// `state`: from a tensor of a subclass. nullopt if it is not the state of a DTensor. Facts that the spec lacks are
// missing in the text, too. The text has a bounded length.
std::optional<TorchShard> shard_in(const Pickle& pickle, const Pickle::Node& state);

}  // namespace tensorstat
