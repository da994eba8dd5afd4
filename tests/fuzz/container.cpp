// A file of tensors in any format, or the index of a model.
#include "stats/files/safetensors/shard_index.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/fuzz/read_tensors.hpp"

namespace tensorstat::fuzz {

void container(Input file) {
  if (const auto index = parse_shard_index(file); !index) demand_message(index.error().message, 1000);
  const MemoryFile memory(file);
  read_tensors(memory.path(), file.size());
}

}  // namespace tensorstat::fuzz
