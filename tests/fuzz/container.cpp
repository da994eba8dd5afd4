// A file of tensors in any format, the index of a model, or the metadata of an array of Zarr.
#include <cstring>

#include "stats/data/files/safetensors/safetensors_header.hpp"
#include "stats/data/files/safetensors/shard_index.hpp"
#include "stats/data/files/zarr/zarr_metadata.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/fuzz/read_tensors.hpp"

namespace tensorstat::fuzz {
void container(Input file) {
  if (const auto index = parse_shard_index(file); !index) demand_message(index.error().message, 1000);
  if (std::uint64_t length = 0; file.size() > sizeof length) {
    std::memcpy(&length, file.data(), sizeof length);
    const auto plain = plain_header(file.substr(sizeof length, length));
    const auto json = plain ? json_header(file.substr(sizeof length, length)) : Error();
    demand(!plain || (json && *json == *plain), "a plain header has the meaning of its JSON");
  }
  for (const bool is_version_3 : {false, true}) {
    const auto array = parse_zarr(file, is_version_3);
    if (!array) {
      demand_message(array.error().message, 2000);
    } else if (*array) {
      demand((*array)->fill.size() == size_bytes((*array)->dtype), "the fill value is an element");
      demand((*array)->chunk.size() == (*array)->shape.size(), "each axis has a length of chunks");
      demand(!(*array)->key(Shape((*array)->shape.size(), 1)).empty(), "a chunk has a name");
    }
  }
  const MemoryFile memory(file);
  read_tensors(memory.path(), file.size());
}

}  // namespace tensorstat::fuzz
