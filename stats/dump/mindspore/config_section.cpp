#include "stats/dump/mindspore/config_section.hpp"

#include <algorithm>
#include <limits>

namespace tensorstat {

using Json = nlohmann::json;

const Json* ConfigSection::find(std::string_view key) {
  known_.emplace_back(key);
  const auto at = object_.find(key);
  return at == object_.end() ? nullptr : &*at;
}

const Json& ConfigSection::get(std::string_view key, std::string_view allowed) {
  const Json* value = find(key);
  if (value == nullptr) refuse(key, allowed);
  return *value;
}

void ConfigSection::refuse(std::string_view key, std::string_view allowed) const {
  const auto at = object_.find(key);
  const auto value = at == object_.end() ? std::string("missing") : excerpt(*at);
  throw Refusal{name_ + "." + std::string(key) + " is " + value +
                "; allowed: " + std::string(allowed)};
}

std::uint32_t ConfigSection::natural(std::string_view key, std::uint32_t most,
                                     std::string_view allowed,
                                     std::optional<std::uint32_t> fallback) {
  const Json* value = find(key);
  if (value == nullptr && fallback) return *fallback;
  if (value == nullptr || !value->is_number_unsigned() || value->get<std::uint64_t>() > most) {
    refuse(key, allowed);
  }
  return value->get<std::uint32_t>();
}

bool ConfigSection::truth(std::string_view key, bool fallback) {
  const Json* value = find(key);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) refuse(key, "true or false");
  return value->get<bool>();
}

std::string ConfigSection::text(std::string_view key, std::string_view allowed,
                                std::optional<std::string> fallback) {
  const Json* value = find(key);
  if (value == nullptr && fallback) return *fallback;
  if (value == nullptr || !value->is_string()) refuse(key, allowed);
  return value->get<std::string>();
}

std::size_t ConfigSection::choice(std::string_view key,
                                  std::initializer_list<std::string_view> words) {
  std::string allowed;
  for (const auto word : words) {
    allowed += (allowed.empty() ? "\"" : ", \"") + std::string(word) + '"';
  }
  const std::string value = text(key, allowed, std::string(*words.begin()));
  const auto at = std::find(words.begin(), words.end(), value);
  if (at == words.end()) refuse(key, allowed);
  return static_cast<std::size_t>(at - words.begin());
}

const Json& ConfigSection::array(std::string_view key, std::string_view allowed) {
  const Json& value = get(key, allowed);
  if (!value.is_array()) refuse(key, allowed);
  return value;
}

void ConfigSection::warn_about_unknown_keys(Notices& notices) const {
  constexpr std::size_t kMostNamed = 16;
  std::string unknown;
  std::size_t count = 0;
  for (const auto& [key, value] : object_.items()) {
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    if (++count <= kMostNamed) unknown += (count == 1 ? "" : ", ") + excerpt(key);
  }
  if (count == 0) return;
  if (count > kMostNamed) unknown += " and " + std::to_string(count - kMostNamed) + " more";
  notices.warn_once("unknown in " + name_,
                    name_ + " has keys that mean nothing and are ignored: " + unknown);
}

}  // namespace tensorstat
