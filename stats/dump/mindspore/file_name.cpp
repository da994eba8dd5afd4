#include "stats/dump/mindspore/file_name.hpp"

#include <charconv>
#include <optional>
#include <vector>

namespace tensorstat {
namespace {

constexpr std::string_view kExtension = ".npy";

bool parse(std::string_view digits, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return error == std::errc() && end == digits.data() + digits.size();
}

// The last `count` parts of `name`, then what is left before them; nothing when one is empty.
std::optional<std::vector<std::string_view>> split_from_the_right(std::string_view name,
                                                                  int count) {
  std::vector<std::string_view> parts;
  for (; count > 0; --count) {
    const std::size_t dot = name.rfind('.');
    if (dot == name.npos || dot + 1 == name.size()) return std::nullopt;
    parts.push_back(name.substr(dot + 1));
    name = name.substr(0, dot);
  }
  if (name.empty()) return std::nullopt;
  parts.push_back(name);
  return parts;
}

// Reads a name whose last part, after `trailing` parts of format and dtype, is the slot.
std::optional<Identity> identity_from(std::string_view stem, int trailing) {
  const auto parts = split_from_the_right(stem, trailing + 6);
  if (!parts) return std::nullopt;
  const std::string_view* part =
      parts->data() + trailing;  // slot, io, timestamp, stream, task, ...
  Identity identity;
  if (!parse(part[0], identity.slot) || (part[1] != "input" && part[1] != "output") ||
      !parse(part[2], identity.timestamp_us) || !parse(part[3], identity.stream_id) ||
      !parse(part[4], identity.task_id)) {
    return std::nullopt;
  }
  identity.io = part[1];
  identity.op_name = part[5];
  identity.op_type = part[6];
  return identity;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c += 'a' - 'A';  // std::tolower follows the locale
  }
  return lower;
}

}  // namespace

NamedTensor named_tensor(std::string_view path, std::uint64_t modified_us) {
  std::string_view stem = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
  const bool is_npy = stem.ends_with(kExtension) && stem.size() > kExtension.size();
  if (is_npy) {
    stem.remove_suffix(kExtension.size());
    if (const auto identity = identity_from(stem, 2)) {
      return {*identity, lower_case(stem.substr(stem.rfind('.') + 1))};
    }
    if (const auto identity = identity_from(stem, 1)) return {*identity, ""};
  }
  Identity plain;
  plain.op_name = stem;
  plain.timestamp_us = modified_us;
  return {plain, ""};
}

}  // namespace tensorstat
