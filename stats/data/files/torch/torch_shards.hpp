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

// `state`: of a tensor of a subclass. nullopt where they are not a DTensor's. What the spec does not say is
// not in the text, whose length is bounded.
std::optional<TorchShard> shard_in(const Pickle& pickle, const Pickle::Node& state);

}  // namespace tensorstat
