#include "stats/data/files/torch/torch_optimizer.hpp"

namespace tensorstat {

const Pickle::Node* ParameterNames::value(const Pickle::Node& dict, std::string_view key, Pickle::Kind kind,
                                          std::uint32_t* node) const {
  if (dict.kind != Pickle::Kind::kDict) return nullptr;
  for (std::size_t k = 0; k + 1 < dict.items.size(); k += 2) {
    const Pickle::Node& its_key = pickle_[dict.items[k]];
    if (its_key.kind != Pickle::Kind::kText || its_key.text != key) continue;
    if (node != nullptr) *node = dict.items[k + 1];
    const Pickle::Node& found = pickle_[dict.items[k + 1]];
    return found.kind == kind ? &found : nullptr;
  }
  return nullptr;
}

ParameterNames::Names ParameterNames::names_of(const Pickle::Node& groups) const {
  Names names;
  for (const std::uint32_t item : groups.items) {
    const Pickle::Node& group = pickle_[item];
    const Pickle::Node *numbers = value(group, "params", Pickle::Kind::kList),
                       *texts = value(group, "param_names", Pickle::Kind::kList);
    if (numbers == nullptr || texts == nullptr || numbers->items.size() != texts->items.size()) continue;
    for (std::size_t i = 0; i < numbers->items.size(); ++i) {
      const Pickle::Node &number = pickle_[numbers->items[i]], &text = pickle_[texts->items[i]];
      const bool is_known = number.kind == Pickle::Kind::kInteger && text.kind == Pickle::Kind::kText;
      if (is_known && !text.text.empty()) names.emplace(number.number, text.text);
    }
  }
  return names;
}

void ParameterNames::look(const Pickle::Node& dict) {
  std::uint32_t state = 0, groups = 0;
  if (dict.items.size() > kMostKeys) return;
  if (value(dict, "state", Pickle::Kind::kDict, &state) == nullptr) return;
  const Pickle::Node* list = value(dict, "param_groups", Pickle::Kind::kList, &groups);
  if (list == nullptr) return;
  if (!names_.contains(groups)) names_.emplace(groups, names_of(*list));
  groups_.emplace(state, groups);
}

std::string_view ParameterNames::name(std::uint32_t state, const Pickle::Node& key) const {
  if (key.kind != Pickle::Kind::kInteger) return {};
  const auto groups = groups_.find(state);
  if (groups == groups_.end()) return {};
  const Names& names = names_.at(groups->second);
  const auto found = names.find(key.number);
  return found == names.end() ? std::string_view() : found->second;
}

}  // namespace tensorstat
