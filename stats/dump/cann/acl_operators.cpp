#include "stats/dump/cann/acl_operators.hpp"

#include <algorithm>

#include "stats/rows/names/op_name.hpp"

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
           std::ranges::any_of(each.positions, [&](const std::string& at) { return is_at(at, *tensor); });
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

bool AclOperators::wants_tensor(const DumpOperator& op, std::string_view model, const PendingTensor& tensor) const {
  if (items_.empty() || op.set_dump) return true;
  const std::string name = escaped_op_name(op.name);
  return std::ranges::any_of(items_, [&](const AclItem& item) {
    return item.is_of(model) && tensorstat::wants(item, op.type, name, &tensor);
  });
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
