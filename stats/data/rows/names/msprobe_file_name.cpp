#include "stats/data/rows/names/msprobe_file_name.hpp"

#include <algorithm>
#include <charconv>
#include <vector>

namespace tensorstat {
namespace {

constexpr std::string_view kNpyExtension = ".npy";

std::optional<std::uint64_t> slot_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto [stop, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc{} || stop != text.data() + text.size() || text.empty()) return std::nullopt;
  return number;
}

std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  for (;;) {
    const auto dot = text.find('.');
    parts.push_back(text.substr(0, dot));
    if (dot == text.npos) return parts;
    text.remove_prefix(dot + 1);
  }
}

}  // namespace

std::optional<MsprobeTensorName> msprobe_tensor_name(std::string_view path) {
  std::string_view stem = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
  if (!stem.ends_with(kNpyExtension)) return std::nullopt;
  stem.remove_suffix(kNpyExtension.size());
  const auto parts = parts_of(stem);
  if (std::ranges::count(parts, "") != 0) return std::nullopt;

  // The direction comes after the kind and the name.
  const auto is_mark = [](std::string_view part) { return is_direction(part) || part == "parameters_grad"; };
  auto part =
      std::ranges::find_if(parts.begin() + std::min<std::ptrdiff_t>(2, std::ssize(parts)), parts.end(), is_mark);
  if (part == parts.end()) return std::nullopt;
  const bool has_direction = is_direction(*part);
  auto last_of_name = part - 1;
  if (has_direction && slot_in(*last_of_name)) {
    if (--last_of_name == parts.begin()) return std::nullopt;
  } else if (part + 1 != parts.end() && slot_in(part[1])) {
    ++part;
  } else if (has_direction) {
    return std::nullopt;
  }
  MsprobeTensorName name;
  name.identity.op_type = *last_of_name;
  name.identity.op_name = stem.substr(0, static_cast<std::size_t>(part->data() + part->size() - stem.data()));
  ++part;
  if (part == parts.end()) return std::nullopt;
  name.identity.io = has_direction ? *part++ : "output";
  if (name.identity.io == "parameters") name.identity.io = "input";
  if ((name.identity.io != "input" && name.identity.io != "output") || part == parts.end()) return std::nullopt;
  const auto slot = slot_in(*part);
  name.is_numbered = slot && part + 1 == parts.end();
  if (name.is_numbered) name.identity.slot = *slot;
  return name;
}

std::string_view without_gradient_count(std::string_view key) {
  constexpr std::string_view kCount = ".0";
  const std::string_view before = key.substr(0, key.size() - std::min(key.size(), kCount.size()));
  return key.ends_with(kCount) && before.ends_with(".parameters_grad") ? before : key;
}

}  // namespace tensorstat
