// The index of a model in several files, such as model.safetensors.index.json or pytorch_model.bin.index.json:
//   {"metadata": {...}, "weight_map": {"layer.0.weight": "model-00001-of-00002.safetensors", ...}}
// Format: https://huggingface.co/docs/transformers/big_models#sharded-checkpoints
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <tensorstat/status.hpp>
#include <unordered_map>
#include <vector>

namespace tensorstat {

struct ShardIndex {
  std::vector<std::string> shards;                        // in the natural order of their names
  std::unordered_map<std::string, std::size_t> shard_of;  // by the tensor's name
};

inline constexpr std::size_t kMostIndexBytes = 100'000'000;

// Parses an untrusted index. A shard's name with a folder is an error. The error gives the cause; the caller adds the
// path.
Result<ShardIndex> parse_shard_index(std::string_view text);

}  // namespace tensorstat
