#include <algorithm>
#include <cstddef>
#include <vector>

#include "stats/data/files/tensor_source.hpp"
#include "tests/fuzz/written_files.hpp"

namespace tensorstat::fuzz {

// Both shards have the same contents, so an index can contradict them.
void shards(Input bytes) {
  static WrittenFiles files;
  const std::string path = files.write("model.safetensors.index.json", take_part(bytes));
  for (const char* shard : {"a.safetensors", "b.safetensors"}) files.write(shard, bytes);
  const auto source = open_tensors(path, {});
  if (!source) return demand_message(source.error().message, 2000);
  constexpr std::size_t kMostMessageBytes = 10'000;
  std::size_t steps = 0;
  for (std::optional<std::uint64_t> before; true;) {
    const auto left = (*source)->count();
    demand(left.has_value(), "an index counts its tensors");
    demand(!before || *left <= *before, "no tensor is added to those that are left");
    before = left;
    auto tensor = (*source)->next();
    if (!tensor) return demand(*left == 0, "every tensor of the index is read, or said to be missing");
    demand(++steps <= 10'000, "an index ends");
    if (!*tensor) {
      demand_message(tensor->error().message, kMostMessageBytes);
      continue;
    }
    TensorReader& reader = **tensor;
    reader.rewind(TensorReader::Order::kC, TensorReader::View::kElements);
    std::vector<std::byte> piece(1 << 12);
    for (auto got = reader.read(piece); !got || *got != 0; got = reader.read(piece)) {
      if (!got) return demand_message(got.error().message, kMostMessageBytes);
    }
  }
}

}  // namespace tensorstat::fuzz
