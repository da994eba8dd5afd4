// Reads a tensor that is split over several files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <tensorstat/status.hpp>
#include <tensorstat/tensor.hpp>
#include <vector>

#include "stats/data/files/io/byte_source.hpp"

namespace tensorstat {

// The elements with the indices from `offsets` on, in C order.
struct ShardBytes {
  Shape offsets, sizes;
  std::shared_ptr<const RandomFile> file;
  std::uint64_t at_bytes = 0;
};

inline constexpr std::size_t kMostShards = 4096;

// The elements of the whole tensor in C order. `named` and `label`: the file and the tensor, for messages. kUnreadable
// if shards lie outside of the shape, or are not as many elements as it has, or more than kMostShards; and when an
// element is read that no shard has.
Result<std::unique_ptr<ByteSource>> sharded_bytes(std::shared_ptr<const RandomFile> named, std::string label,
                                                  const Shape& shape, std::uint32_t element_bytes,
                                                  std::vector<ShardBytes> shards);

}  // namespace tensorstat
