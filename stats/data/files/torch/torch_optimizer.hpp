// The parameters' names in the state of a torch.optim.Optimizer, in a pickle that must outlive them. Its tensors have
// the parameters' numbers; the groups of parameters have their names, if the optimizer got them (torch 2.6 and later):
//   {"state": {0: {"exp_avg": ...}, ...}, "param_groups": [{"params": [0, ...], "param_names": ["w", ...]}]}
// Source: https://github.com/pytorch/pytorch torch/optim/optimizer.py
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "stats/data/files/torch/pickle.hpp"

namespace tensorstat {

class ParameterNames {
 public:
  explicit ParameterNames(const Pickle& pickle) : pickle_(pickle) {}

  // Looks whether this dict is the state of an optimizer. Each list of groups is read once.
  void look(const Pickle::Node& dict);

  // The name of a parameter in the dict `state`; empty if it is not known.
  std::string_view name(std::uint32_t state, const Pickle::Node& key) const;

 private:
  static constexpr std::size_t kMostKeys = 200;  // an optimizer has a few; state dicts of models have many
  using Names = std::unordered_map<std::int64_t, std::string_view>;

  std::optional<std::uint32_t> value(const Pickle::Node& dict, std::string_view key, Pickle::Kind kind) const;
  Names names_of(const Pickle::Node& groups) const;

  const Pickle& pickle_;
  std::unordered_map<std::uint32_t, Names> names_;           // by the list of groups
  std::unordered_map<std::uint32_t, std::uint32_t> groups_;  // by the dict of states: its list of groups
};

}  // namespace tensorstat
