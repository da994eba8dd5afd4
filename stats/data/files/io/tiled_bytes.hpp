// The elements of a tensor that lie with strides or in tiles, one after another in C order.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "stats/data/files/io/byte_source.hpp"

namespace tensorstat {

// An axis is cut into blocks of `block` elements; the last may be padded. Strides are in elements. An axis without
// tiles is one block: its length is `block`, its stride `inner_stride`. A stride of 0 repeats.
struct TiledAxis {
  std::uint64_t length = 1, block = 1;
  std::uint64_t outer_stride = 0;  // from a block to the next
  std::uint64_t inner_stride = 0;  // from an element of a block to the next

  std::uint64_t offset(std::uint64_t index) const {
    return index / block * outer_stride + index % block * inner_stride;
  }
};

// Whoever makes one has checked that every element lies within the source.
struct Tiles {
  std::uint64_t at_bytes = 0;    // of the first element
  std::uint64_t span_bytes = 0;  // of all elements, with the padding
  std::uint64_t element_bytes = 1;
  std::vector<TiledAxis> axes;  // outermost first; not empty
  std::uint64_t most_held_bytes = std::uint64_t{256} << 20;
};

// Reads everything into memory at once if it spans at most `most_held_bytes` and the elements do not lie far apart,
// else block by block.
std::unique_ptr<ByteSource> tiled_bytes(std::unique_ptr<ByteSource> bytes, Tiles tiles);

}  // namespace tensorstat
