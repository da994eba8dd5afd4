#include "stats/data/files/torch/torch_shards.hpp"

#include <algorithm>

#include "stats/core/base/printable.hpp"

namespace tensorstat {
namespace {

using Kind = Pickle::Kind;
using Node = Pickle::Node;

constexpr std::size_t kMostParts = 8, kMostWordBytes = 40;

// The value of an object's attribute; nullptr if it is missing.
const Node* attribute(const Pickle& pickle, const Node* object, std::string_view name) {
  if (object == nullptr || object->kind != Kind::kCall || object->items.size() < 3) return nullptr;
  const auto value = pickle.find(pickle[object->items.back()], name);
  return value ? &pickle[*value] : nullptr;
}

// A number or a text; "" for all others.
std::string text_of(const Node& node) {
  return node.kind == Kind::kInteger ? std::to_string(node.number)
         : node.kind == Kind::kText  ? shown(std::string(node.text), kMostWordBytes)
                                     : "";
}

bool is_list(const Node* node) { return node != nullptr && (node->kind == Kind::kTuple || node->kind == Kind::kList); }

// "Shard(dim=0)", as torch prints it.
std::string placement_of(const Pickle& pickle, const Node& placement) {
  if (placement.kind != Kind::kCall || pickle[placement.items[0]].kind != Kind::kName) return "?";
  std::string text = shown(std::string(pickle[placement.items[0]].more), kMostWordBytes) + "(";
  if (placement.items.size() > 2 && pickle[placement.items.back()].kind == Kind::kDict) {
    const std::vector<std::uint32_t>& facts = pickle[placement.items.back()].items;
    for (std::size_t i = 0; i + 1 < std::min(facts.size(), 2 * kMostParts); i += 2) {
      const std::string key = text_of(pickle[facts[i]]), value = text_of(pickle[facts[i + 1]]);
      if (!key.empty() && !value.empty()) text += (text.ends_with('(') ? "" : ", ") + key + "=" + value;
    }
  }
  return text + ")";
}

}  // namespace

std::optional<TorchShard> shard_in(const Pickle& pickle, const Node& state) {
  // The attributes of an object with slots stand behind its own dict, or None.
  const Node& attributes = state.kind == Kind::kTuple && !state.items.empty() ? pickle[state.items.back()] : state;
  const auto local = pickle.find(attributes, "_local_tensor"), spec = pickle.find(attributes, "_spec");
  if (!local || !spec) return std::nullopt;
  TorchShard shard{*local, {}};
  const Node* placements = attribute(pickle, &pickle[*spec], "placements");
  if (!is_list(placements)) return shard;
  const Node* mesh = attribute(pickle, &pickle[*spec], "mesh");
  const Node* axes = attribute(pickle, mesh, "_mesh_dim_names");
  if (axes == nullptr) axes = attribute(pickle, mesh, "mesh_dim_names");  // before torch 2.9
  for (std::size_t i = 0; i < std::min(placements->items.size(), kMostParts); ++i) {
    if (i != 0) shard.placement += ", ";
    shard.placement += placement_of(pickle, pickle[placements->items[i]]);
    if (is_list(axes) && i < axes->items.size()) shard.placement += " over " + text_of(pickle[axes->items[i]]);
  }
  if (placements->items.size() > kMostParts) shard.placement += ", ...";
  // TensorMeta is a named tuple: its first argument is a torch.Size.
  const Node* whole = attribute(pickle, &pickle[*spec], "tensor_meta");
  for (int depth = 0; depth < 2 && whole != nullptr && whole->kind == Kind::kCall; ++depth) {
    const Node& arguments = pickle[whole->items[1]];
    whole = is_list(&arguments) && !arguments.items.empty() ? &pickle[arguments.items[0]] : nullptr;
  }
  if (is_list(whole)) {
    shard.placement += ", of shape (";
    for (std::size_t i = 0; i < std::min(whole->items.size(), kMostParts); ++i)
      shard.placement += (i == 0 ? "" : ",") + text_of(pickle[whole->items[i]]);
    shard.placement += whole->items.size() > kMostParts ? ",...)" : ")";
  }
  return shard;
}

}  // namespace tensorstat
