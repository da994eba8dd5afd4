#include "stats/data/files/torch/torch_optimizer.hpp"

namespace tensorstat {

std::optional<std::uint32_t> ParameterNames::value(const Pickle::Node& dict, std::string_view key,
                                                   Pickle::Kind kind) const {
  const auto item = pickle_.find(dict, key);
  return item && pickle_[*item].kind == kind ? item : std::nullopt;
}

ParameterNames::Names ParameterNames::names_of(const Pickle::Node& groups) const {
  Names names;
  for (const std::uint32_t item : groups.items) {
    const Pickle::Node& group = pickle_[item];
    const auto params = value(group, "params", Pickle::Kind::kList);
    const auto param_names = value(group, "param_names", Pickle::Kind::kList);
    if (!params || !param_names) continue;
    const auto &numbers = pickle_[*params].items, &texts = pickle_[*param_names].items;
    if (numbers.size() != texts.size()) continue;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const Pickle::Node &number = pickle_[numbers[i]], &text = pickle_[texts[i]];
      const bool is_known = number.kind == Pickle::Kind::kInteger && text.kind == Pickle::Kind::kText;
      if (is_known && !text.text.empty()) names.emplace(number.number, text.text);
    }
  }
  return names;
}

void ParameterNames::look(const Pickle::Node& dict) {
  if (dict.items.size() > kMostKeys) return;
  const auto state = value(dict, "state", Pickle::Kind::kDict);
  const auto groups = state ? value(dict, "param_groups", Pickle::Kind::kList) : std::nullopt;
  if (!groups) return;
  if (!names_.contains(*groups)) names_.emplace(*groups, names_of(pickle_[*groups]));
  groups_.emplace(*state, *groups);
}

std::string_view ParameterNames::name(std::uint32_t state, const Pickle::Node& key) const {
  if (key.kind != Pickle::Kind::kInteger) return {};
  const auto groups = groups_.find(state);
  if (groups == groups_.end()) return {};
  const Names& names = names_.at(groups->second);
  const auto entry = names.find(key.number);
  return entry == names.end() ? std::string_view() : entry->second;
}

}  // namespace tensorstat
