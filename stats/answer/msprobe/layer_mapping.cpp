#include "stats/answer/msprobe/layer_mapping.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <span>
#include <unordered_map>

#include "stats/answer/msprobe/call_scopes.hpp"
#include "stats/core/base/printable.hpp"

namespace tensorstat::msprobe {
namespace {

// A member of a layer, and what the Bench calls it. Both may be several parts: "block.0".
struct MemberName {
  std::vector<std::string> from;
  std::string to;
};
using MembersByType = std::unordered_map<std::string, std::vector<MemberName>>;

Result<MembersByType> members_by_type(const std::optional<PythonTree>& file) {
  MembersByType types;
  if (!file || !file->is_true()) return types;
  const Error wrong{Code::kInvalid, "mapping: the file should hold {TYPE_OF_LAYER: {MEMBER: MEMBER}}"};
  if (!file->is_dict()) return wrong;
  for (const auto& [type, names] : file->members) {
    if (!names.is_dict()) return wrong;
    // Older files call the outermost layer Cell.
    std::vector<MemberName>& members = types[type == "Cell" ? "TopLayer" : type];
    for (const auto& [from, to] : names.members) {
      if (!to.is_text()) return wrong;
      const std::string target = text_of(to);  // "linear1(Linear)" is linear1
      members.push_back({parts_of_name(from), target.substr(0, target.find('('))});
    }
    std::ranges::stable_sort(members, std::greater<>(), [](const MemberName& name) { return name.from.size(); });
  }
  return types;
}

// A layer, or an API: a node of the tree of scopes.
struct Node {
  std::string type_name;
  std::map<std::string, std::vector<const CallScope*>> calls = {};  // by state
  std::unordered_map<std::string, Node*> children = {};
};
using Nodes = std::deque<Node>;  // the root first; of any depth, so no node destroys its children

std::vector<std::string> parts_below(const std::string& scope) {
  std::vector<std::string> parts = parts_of_name(scope);
  parts.erase(parts.begin());
  return parts;
}

Nodes tree_of(const std::vector<CallScope>& calls) {
  Nodes nodes;
  nodes.push_back({.type_name = "TopLayer"});
  for (const CallScope& call : calls) {
    Node* node = &nodes.front();
    for (const std::string& part : parts_below(call.scope)) {
      Node*& child = node->children[part];
      if (child == nullptr) child = &nodes.emplace_back(Node{.type_name = part});
      node = child;
    }
    node->calls[call.state].push_back(&call);
    node->type_name = call.type_name;
  }
  return nodes;
}

// The Bench's call in the place that the mapping gives `call`, or nullptr.
const CallScope* partner_of(const CallScope& call, const Node& npu, const Node& bench, const MembersByType& types) {
  const Node* from = &npu;
  const Node* to = &bench;
  const std::vector<std::string> parts = parts_below(call.scope);
  for (std::size_t i = 0; i < parts.size();) {
    std::string target = parts[i];
    std::size_t step = 1;
    if (const auto members = types.find(from->type_name); members != types.end()) {
      for (const MemberName& name : members->second) {
        const bool fits = name.from.size() <= parts.size() - i &&
                          std::ranges::equal(name.from, std::span(parts).subspan(i, name.from.size()));
        if (!fits) continue;
        target = name.to;
        step = name.from.size();
        break;
      }
    }
    for (const std::string& part : parts_of_name(target)) {
      if (to == nullptr) break;
      const auto child = to->children.find(part);
      to = child == to->children.end() ? nullptr : child->second;
    }
    for (; step != 0; --step, ++i) from = from->children.at(parts[i]);
  }
  if (to == nullptr) return nullptr;
  const auto& ours = from->calls.at(call.state);
  const auto theirs = to->calls.find(call.state);
  const auto place = static_cast<std::size_t>(std::ranges::find(ours, &call) - ours.begin());
  return theirs == to->calls.end() || place >= theirs->second.size() ? nullptr : theirs->second[place];
}

}  // namespace

Status map_layers(const std::optional<PythonTree>& file, const std::string& npu_path, const std::string& bench_path,
                  Dump& npu, const Dump& bench) {
  const auto types = members_by_type(file);
  if (!types) return types.error();
  const auto of_npu = scopes_of_calls(npu_path, npu);
  if (!of_npu) return of_npu.error();
  const auto of_bench = scopes_of_calls(bench_path, bench);
  if (!of_bench) return of_bench.error();
  const Nodes npu_tree = tree_of(*of_npu), bench_tree = tree_of(*of_bench);

  // The Bench's tensors by call and by what follows the call in their names.
  std::unordered_map<std::string_view, std::unordered_map<std::string_view, const Item*>> tensors;
  const auto after_call = [](const Dump& dump, const Item& item) {
    const std::string_view name = item.name;
    return name.substr(std::min(dump.calls[item.call].size(), name.size()));
  };
  for (const Item& item : bench.items) tensors[bench.calls[item.call]][after_call(bench, item)] = &item;

  std::vector<const CallScope*> partners;
  for (const CallScope& call : *of_npu)
    partners.push_back(partner_of(call, npu_tree.front(), bench_tree.front(), *types));
  for (Item& item : npu.items) {
    item.key = kNotAvailable;
    const CallScope* partner = partners[item.call];
    if (partner == nullptr) continue;
    const auto& of_call = tensors[partner->call];
    if (const auto tensor = of_call.find(after_call(npu, item)); tensor != of_call.end())
      item.key = tensor->second->name;
  }
  return {};
}

}  // namespace tensorstat::msprobe
