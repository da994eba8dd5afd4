// Values that are stored in blocks, such as quantized weights: several values share scales. They are read as float32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "stats/data/files/io/byte_source.hpp"

namespace tensorstat {

struct BlockFormat {
  std::string_view name;                // "Q4_K"
  std::uint32_t values = 0, bytes = 0;  // of a block
  // Writes the values of `count` blocks.
  void (*decode)(const std::byte* blocks, std::size_t count, float* values) = nullptr;
};

// The values of the blocks that begin at `first_block_bytes` of `blocks`. original() is `blocks`. Takes some 300 KiB
// of memory for each read.
std::unique_ptr<ByteSource> decoded_blocks(std::unique_ptr<ByteSource> blocks, const BlockFormat& format,
                                           std::uint64_t first_block_bytes);

}  // namespace tensorstat
