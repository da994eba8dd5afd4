// The metadata of one array of a Zarr store: .zarray (version 2) or zarr.json (version 3).
// Source: https://zarr-specs.readthedocs.io, v2 and v3 core; https://numcodecs.readthedocs.io for codecs of version 2
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tensorstat/status.hpp>
#include <tensorstat/tensor.hpp>
#include <vector>

#include "stats/data/files/packed/unpacker.hpp"

namespace tensorstat {

struct ZarrArray {
  Dtype dtype = Dtype::kFloat32;
  bool swapped = false;  // stored in the other byte order than this machine's
  Shape shape;
  Shape chunk;                     // as many lengths as `shape`, none of them 0; chunks at the edge are whole, too
  std::vector<std::size_t> order;  // a chunk's axes as they are stored, the outermost first
  std::vector<std::byte> fill;     // an element of a chunk that is not there, as stored
  std::optional<Packing> packing;  // of a chunk; nullopt: none
  bool has_inner_crc32c = false;   // behind the elements, and packed with them
  bool has_outer_crc32c = false;   // behind the packed bytes
  // If set: the shape of shards, files that hold whole chunks and an index of them, in which a chunk has 16 bytes.
  std::optional<Shape> shard;
  bool has_index_at_start = false, has_index_crc32c = false;
  std::string key_prefix;  // "c" in version 3
  char key_separator = '.';

  // The path of a chunk, or of a shard, below the array's folder; `index` counts them along each axis.
  std::string key(const Shape& index) const;
};

// nullopt: a group. The error names an unsupported feature or a fault.
Result<std::optional<ZarrArray>> parse_zarr(std::string_view text, bool is_version_3);

}  // namespace tensorstat
