#include "stats/job/dump/msprobe/api_name.hpp"

#include <charconv>

#include "stats/data/rows/names/direction.hpp"
#include "stats/data/rows/names/msprobe_file_name.hpp"
#include "stats/data/rows/names/op_name.hpp"
#include "stats/job/dump/config/operator_choice.hpp"

namespace tensorstat {
namespace {

// Removes the last part of a dotted name and returns it.
std::string_view take_last(std::string_view& name) {
  const auto dot = name.rfind('.');
  const std::string_view last = dot == name.npos ? name : name.substr(dot + 1);
  name = dot == name.npos ? std::string_view() : name.substr(0, dot);
  return last;
}

std::optional<std::uint64_t> count_in(std::string_view digits) {
  std::uint64_t count = 0;
  const auto end = digits.data() + digits.size();
  const auto [stop, fault] = std::from_chars(digits.data(), end, count);
  constexpr std::uint64_t kMost = std::uint64_t{1} << 62;  // leaves room to count on
  if (fault != std::errc{} || stop != end || count > kMost) return std::nullopt;
  return count;
}

std::optional<ApiName> named(std::string_view name) {
  using Kind = ApiName::Kind;
  const bool is_module = name.starts_with("Module.") || name.starts_with("Cell.");
  const std::string_view last = take_last(name);
  if (is_direction(last) && !is_module) {
    const auto count = count_in(take_last(name));
    if (!count || name.find('.') == name.npos) return std::nullopt;
    return ApiName{Kind::kApi, last == "backward", std::string(name), count};
  }
  if (!is_module) return std::nullopt;
  if (last == "parameters_grad") return ApiName{Kind::kGradients, true, std::string(name), std::nullopt};
  const auto count = count_in(last);
  const std::string_view before = take_last(name);
  if (!count || name.empty()) return std::nullopt;
  if (before == "parameters_grad") return ApiName{Kind::kGradients, true, std::string(name), count};
  if (is_direction(before)) return ApiName{Kind::kModule, before == "backward", std::string(name), count};
  return std::nullopt;
}

}  // namespace

std::string ApiName::family() const {
  if (kind == Kind::kSaved) return stem + ".debug";
  if (kind == Kind::kGradients) return stem + ".parameters_grad";
  return stem + (is_backward ? ".backward" : ".forward");
}

std::string ApiName::key(std::uint64_t call) const {
  if (kind == Kind::kSaved) return stem + "." + std::to_string(call) + ".debug";
  if (kind != Kind::kApi) return family() + "." + std::to_string(call);
  return stem + "." + std::to_string(call) + (is_backward ? ".backward" : ".forward");
}

ApiName api_name_of(std::string_view type, std::string_view full_scope_name) {
  if (type == kSavedType) {
    std::string_view stem = full_scope_name;
    const bool is_key = take_last(stem) == "debug";
    const auto count = is_key ? count_in(take_last(stem)) : std::nullopt;
    if (count && !stem.empty()) return {ApiName::Kind::kSaved, false, std::string(stem), count};
    return {ApiName::Kind::kSaved, false, std::string(full_scope_name), std::nullopt};
  }
  if (auto known = named(full_scope_name)) return *std::move(known);
  return {ApiName::Kind::kApi, is_of_backward(full_scope_name),
          "Primitive." + escaped_op_name(full_scope_name) + "." + escaped_op_name(type), std::nullopt};
}

}  // namespace tensorstat
