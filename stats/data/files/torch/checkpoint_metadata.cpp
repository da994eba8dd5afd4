#include "stats/data/files/torch/checkpoint_metadata.hpp"

#include <map>
#include <optional>
#include <utility>

#include "stats/core/base/printable.hpp"
#include "stats/data/files/dimensions.hpp"
#include "stats/data/files/torch/pickle.hpp"

namespace tensorstat {
namespace {

using Kind = Pickle::Kind;
using Node = Pickle::Node;

class MetadataReader {
 public:
  explicit MetadataReader(const Pickle& pickle) : pickle_(pickle) {}

  Result<std::vector<Result<CheckpointTensor>>> read() {
    const Node* root = state_of(pickle_[pickle_.root()], "Metadata");
    const Node *tensors = root ? field(*root, "state_dict_metadata") : nullptr,
               *storage = root ? field(*root, "storage_data") : nullptr;
    if (tensors == nullptr || storage == nullptr || tensors->kind != Kind::kDict || storage->kind != Kind::kDict) {
      return Error{Code::kUnreadable, "holds no metadata of torch.distributed.checkpoint"};
    }
    read_places(*storage);
    std::vector<Result<CheckpointTensor>> results;
    for (std::size_t k = 0; k + 1 < tensors->items.size(); k += 2) {
      const Node &name = pickle_[tensors->items[k]], &value = pickle_[tensors->items[k + 1]];
      const Node* state = state_of(value, "TensorStorageMetadata");
      if (state == nullptr || name.kind != Kind::kText) continue;
      auto tensor = tensor_of(std::string(name.text), *state);
      if (!tensor) tensor = Error{tensor.error().code, "'" + shown(name.text, 200) + "' " + tensor.error().message};
      results.push_back(std::move(tensor));
    }
    return results;
  }

 private:
  // Where the archive of a shard is.
  struct Place {
    std::string_view file;
    std::uint64_t offset_bytes = 0, bytes = 0;
  };

  // The attributes of an object of this class, which a dict was put into.
  const Node* state_of(const Node& object, std::string_view name) const {
    if (object.kind != Kind::kCall || object.items.size() < 3) return nullptr;
    const Node &callee = pickle_[object.items[0]], &state = pickle_[object.items.back()];
    return callee.kind == Kind::kName && callee.more == name && state.kind == Kind::kDict ? &state : nullptr;
  }

  const Node* field(const Node& state, std::string_view name) const {
    const auto value = pickle_.find(state, name);
    return value ? &pickle_[*value] : nullptr;
  }

  std::optional<std::uint64_t> number(const Node* node) const {
    if (node == nullptr || node->kind != Kind::kInteger || node->number < 0) return std::nullopt;
    return static_cast<std::uint64_t>(node->number);
  }

  // torch.Size((2, 3))
  std::optional<Shape> size(const Node* node) const {
    if (node != nullptr && node->kind == Kind::kCall) {
      const Node& arguments = pickle_[node->items[1]];
      node = arguments.kind == Kind::kTuple && arguments.items.size() == 1 ? &pickle_[arguments.items[0]] : nullptr;
    }
    if (node == nullptr || (node->kind != Kind::kTuple && node->kind != Kind::kList)) return std::nullopt;
    if (node->items.size() > kMostDimensions) return std::nullopt;
    Shape shape;
    for (const std::uint32_t item : node->items) {
      const auto length = number(&pickle_[item]);
      if (!length) return std::nullopt;
      shape.push_back(*length);
    }
    return shape;
  }

  void read_places(const Node& storage) {
    for (std::size_t k = 0; k + 1 < storage.items.size(); k += 2) {
      const Node *key = state_of(pickle_[storage.items[k]], "MetadataIndex"),
                 *value = state_of(pickle_[storage.items[k + 1]], "_StorageInfo");
      if (key == nullptr || value == nullptr) continue;
      const Node *name = field(*key, "fqn"), *file = field(*value, "relative_path");
      const auto offsets = size(field(*key, "offset"));
      const auto begin = number(field(*value, "offset")), bytes = number(field(*value, "length"));
      if (name == nullptr || file == nullptr || file->kind != Kind::kText || !offsets || !begin || !bytes) continue;
      places_.emplace(std::pair(name->text, *offsets), Place{file->text, *begin, *bytes});
    }
  }

  Result<CheckpointTensor> tensor_of(std::string&& name, const Node& state) const {
    const auto fault = [](const std::string& what) { return Error{Code::kUnreadable, what}; };
    CheckpointTensor tensor{.name = std::move(name), .shape = {}, .shards = {}};
    const auto shape = size(field(state, "size"));
    const Node* chunks = field(state, "chunks");
    if (!shape || chunks == nullptr || chunks->kind != Kind::kList) return fault("has no size and no shards");
    tensor.shape = *shape;
    for (const std::uint32_t item : chunks->items) {
      const Node* chunk = state_of(pickle_[item], "ChunkStorageMetadata");
      const auto offsets = chunk ? size(field(*chunk, "offsets")) : std::nullopt,
                 sizes = chunk ? size(field(*chunk, "sizes")) : std::nullopt;
      if (!offsets || !sizes || offsets->size() != shape->size() || sizes->size() != shape->size()) {
        return fault("has a shard without a place");
      }
      const auto place = places_.find(std::pair(std::string_view(tensor.name), *offsets));
      if (place == places_.end()) return fault("lacks its shard at " + to_string(*offsets));
      const std::string_view file = place->second.file;
      if (file.empty() || file.find_first_of(std::string_view("/\0", 2)) != file.npos) {
        return fault("has a shard in '" + shown(file, 200) + "', which is no file in the folder of .metadata");
      }
      tensor.shards.push_back({*offsets, *sizes, std::string(file), place->second.offset_bytes, place->second.bytes});
    }
    return tensor;
  }

  const Pickle& pickle_;
  std::map<std::pair<std::string_view, Shape>, Place> places_;  // by the tensor's name and the shard's offsets
};

}  // namespace

Result<std::vector<Result<CheckpointTensor>>> parse_checkpoint_metadata(std::string_view pickle) {
  const auto read = Pickle::read(pickle);
  if (!read) return read.error();
  return MetadataReader(*read).read();
}

}  // namespace tensorstat
