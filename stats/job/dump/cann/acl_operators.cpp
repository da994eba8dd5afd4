#include "stats/job/dump/cann/acl_operators.hpp"

#include <algorithm>

#include "stats/data/rows/names/op_name.hpp"

namespace tensorstat {
namespace {

bool has_layer(const AclItem& item, std::string_view name) {
  return item.layers.empty() || item.layers.find(name) != item.layers.end();
}

// Whether `position` names this tensor: "input0", "input_0", "output3".
bool is_at(std::string_view position, const PendingTensor& tensor) {
  const std::string_view word = tensor.io == Io::kInput ? "input" : "output";
  if (!position.starts_with(word)) return false;
  position.remove_prefix(word.size());
  if (position.starts_with('_')) position.remove_prefix(1);
  return position == std::to_string(tensor.slot);
}

bool is_black(const std::vector<AclBlack>& list, std::string_view name, const PendingTensor* tensor) {
  return std::ranges::any_of(list, [&](const AclBlack& each) {
    if (each.name != name) return false;
    if (each.positions.empty()) return true;
    return tensor != nullptr &&
           std::ranges::any_of(each.positions, [&](const std::string& position) { return is_at(position, *tensor); });
  });
}

bool wants(const AclItem& item, std::string_view type, std::string_view name, const PendingTensor* tensor) {
  return has_layer(item, name) && !is_black(item.black_types, type, tensor) &&
         !is_black(item.black_names, name, tensor);
}

}  // namespace

bool AclOperators::wants(const AskedOperator& op) const {
  if (items_.empty() || op.set_dump) return true;
  const std::string name = escaped_op_name(op.name);
  return std::ranges::any_of(items_,
                             [&](const AclItem& item) { return tensorstat::wants(item, op.type, name, nullptr); });
}

std::vector<std::string> AclOperators::unused() const { return {}; }

bool AclOperators::bounds(const AskedOperator& op) const {
  const std::string name = escaped_op_name(op.name);
  return std::ranges::any_of(items_, [&](const AclItem& item) {
    return std::ranges::any_of(item.ranges,
                               [&](const auto& range) { return range.first == name || range.second == name; });
  });
}

bool AclOperators::has_bounds() const {
  return std::ranges::any_of(items_, [](const AclItem& item) { return !item.ranges.empty(); });
}

std::vector<const AclItem*> AclOperators::items_around(const PendingRun& run, std::string_view model,
                                                       AclRanges& ranges) const {
  const std::string name = escaped_op_name(run.op->name);
  std::vector<const AclItem*> items;
  std::size_t number = 0;
  for (const AclItem& item : items_) {
    const bool is_of_model = item.is_of(model);
    bool is_in = item.ranges.empty();
    for (const auto& [begin, end] : item.ranges) {
      const std::size_t index = number++;
      if (!is_of_model) continue;
      bool& is_open = ranges[{run.place.rank, run.place.graph, index}];
      is_open |= name == begin;
      is_in |= is_open;
      if (name == end) is_open = false;
    }
    if (is_of_model && is_in) items.push_back(&item);
  }
  return items;
}

bool AclOperators::wants_tensor(const DumpOperator& op, std::span<const AclItem* const> items,
                                const PendingTensor& tensor) const {
  if (items_.empty() || op.set_dump) return true;
  const std::string name = escaped_op_name(op.name);
  return std::ranges::any_of(items,
                             [&](const AclItem* item) { return tensorstat::wants(*item, op.type, name, &tensor); });
}

bool AclOperators::has_several_models() const {
  std::string_view first;
  for (const AclItem& item : items_) {
    if (first.empty()) first = item.model;
    if (!item.model.empty() && item.model != first) return true;
  }
  return false;
}

}  // namespace tensorstat
