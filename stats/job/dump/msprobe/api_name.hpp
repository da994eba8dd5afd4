// The names of operators in msprobe's dump.json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tensorstat {

// The key of a call:
//   {stem}.{count}.forward | backward     an API: Functional.conv2d.0.forward
//   {stem}.forward | backward.{count}     a module: Module.conv1.Conv2d.forward.0, in MindSpore Cell.conv1...
//   {stem}.parameters_grad.{count}        the gradients of a module's parameters
//   {stem}.{count}.debug                  what DumpSession::save() took, in debug.json
// In each step counts begin with 0.
struct ApiName {
  enum class Kind : std::uint8_t { kApi, kModule, kGradients, kSaved };
  Kind kind = Kind::kApi;
  bool is_backward = false;
  std::string stem;
  std::optional<std::uint64_t> count;  // if the name contains it

  std::string key(std::uint64_t call) const;
  // The same for all calls of this name in one direction.
  std::string family() const;
};

// Of type kSavedType, the name is the stem, or the whole key. Any other name of one of these forms is kept. The count
// of parameters_grad is optional. Any other operator becomes the API `Primitive.{name}.{type}`, as msprobe names
// MindSpore's primitives, with / . \ and space replaced by _. It belongs to the backward pass if its scope is
// MindSpore's "Gradients/".
ApiName api_name_of(std::string_view type, std::string_view full_scope_name);

}  // namespace tensorstat
