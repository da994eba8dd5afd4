// The file .metadata of a distributed checkpoint of torch: where the shards of each tensor are.
// Source: https://github.com/pytorch/pytorch torch/distributed/checkpoint/metadata.py, filesystem.py
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tensorstat/status.hpp>
#include <tensorstat/tensor.hpp>
#include <vector>

namespace tensorstat {

// A part of a tensor: the indices from `offsets` on. Its bytes in a file beside .metadata are an archive of torch.save.
struct CheckpointShard {
  Shape offsets, sizes;
  std::string file;  // a name without a folder
  std::uint64_t offset_bytes = 0, bytes = 0;
};

struct CheckpointTensor {
  std::string name;
  Shape shape;
  std::vector<CheckpointShard> shards;
};

// The tensors of an untrusted pickle, in its order. A tensor without described shards is an error in its place. Other
// objects, such as a step, are left out. The error gives the cause; the caller adds the path.
Result<std::vector<Result<CheckpointTensor>>> parse_checkpoint_metadata(std::string_view pickle);

}  // namespace tensorstat
