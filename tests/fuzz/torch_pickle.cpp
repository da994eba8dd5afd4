#include <string>
#include <string_view>

#include "stats/data/files/torch/checkpoint_metadata.hpp"
#include "stats/data/files/torch/strided_view.hpp"
#include "stats/data/files/torch/torch_objects.hpp"
#include "tests/fuzz/targets.hpp"

namespace tensorstat::fuzz {

void torch_pickle(Input bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (const auto checkpoint = parse_checkpoint_metadata(text); !checkpoint) {
    demand_message(checkpoint.error().message, 1000);
  } else {
    for (const auto& tensor : *checkpoint) {
      if (!tensor) demand_message(tensor.error().message, 2000);
      for (const CheckpointShard& shard : tensor ? tensor->shards : std::vector<CheckpointShard>()) {
        demand(shard.offsets.size() == tensor->shape.size(), "a shard has an offset for each axis");
        demand(shard.file.find('/') == shard.file.npos, "a shard is in the folder");
      }
    }
  }
  const auto pickle = Pickle::read({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!pickle) return demand_message(pickle.error().message, 1000);
  demand(pickle->size_bytes() <= bytes.size(), "a pickle ends within its bytes");
  demand(pickle->root() < pickle->node_count(), "its root is one of its nodes");
  demand(pickle->node_count() <= bytes.size() * 2, "a byte makes two nodes at most");
  if (const auto storages = torch_storages(*pickle); !storages) demand_message(storages.error().message, 1000);
  const auto objects = torch_objects(*pickle);
  if (!objects) return demand_message(objects.error().message, 1000);
  for (const Result<TorchTensor>& tensor : objects->tensors) {
    if (!tensor) {
      demand_message(tensor.error().message, 2000);
      continue;
    }
    demand(tensor->shape.size() == tensor->stride.size(), "each dimension has a stride");
    const StridedView view{0, size_bytes(tensor->dtype), tensor->shape, tensor->stride};
    const auto span = span_of(view);
    if (!span) continue;
    const auto count = element_count(tensor->shape, view.element_bytes);
    if (is_c_order(view) && count && *count != 0) demand(*span == *count, "what is in C order has no holes");
  }
}

}  // namespace tensorstat::fuzz
