// How operators are called in msprobe's dump.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tensorstat {

// The key of a call is
//   {stem}.{count}.forward | backward     of an API: Functional.conv2d.0.forward
//   {stem}.forward | backward.{count}     of a module: Module.conv1.Conv2d.forward.0, Cell. in MindSpore
//   {stem}.parameters_grad.{count}        of the gradients of a module's parameters
// Counts begin with 0 in each step.
struct ApiName {
  enum class Kind : std::uint8_t { kApi, kModule, kGradients };
  Kind kind = Kind::kApi;
  bool is_backward = false;
  std::string stem;
  std::optional<std::uint64_t> count;  // where the name says it

  std::string key(std::uint64_t call) const;
  // The same for all calls of this name in one direction.
  std::string family() const;
};

inline bool is_direction(std::string_view word) { return word == "forward" || word == "backward"; }

// An operator's name that has one of these forms is kept; parameters_grad may lack its count. Any other operator is an
// API `Primitive.{name}.{type}`, as msprobe calls MindSpore's primitives, with / . \ and space of name and type as _;
// it belongs to the backward pass where its scope is MindSpore's "Gradients/".
ApiName api_name_of(std::string_view type, std::string_view full_scope_name);

}  // namespace tensorstat
