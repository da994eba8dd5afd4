// A file of tensors in any format, or the index of a model.
#include <cstring>

#include "stats/data/files/safetensors/safetensors_header.hpp"
#include "stats/data/files/safetensors/shard_index.hpp"
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
  const MemoryFile memory(file);
  read_tensors(memory.path(), file.size());
}

}  // namespace tensorstat::fuzz
