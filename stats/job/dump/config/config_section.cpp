#include "stats/job/dump/config/config_section.hpp"

#include <algorithm>
#include <limits>

namespace tensorstat {

using Kind = JsonValue::Kind;

std::optional<JsonValue> ConfigSection::find(std::string_view key) {
  known_.emplace_back(key);
  return object_.find(key);
}

JsonValue ConfigSection::get(std::string_view key, std::string_view allowed) {
  const auto value = find(key);
  if (!value) refuse(key, allowed);
  return *value;
}

void ConfigSection::refuse(std::string_view key, std::string_view allowed) const {
  const auto value = object_.find(key);
  throw Refusal{name_ + "." + std::string(key) + " is " + (value ? excerpt(*value) : "missing") +
                "; allowed: " + std::string(allowed)};
}

std::uint32_t ConfigSection::natural(std::string_view key, std::uint32_t most, std::string_view allowed,
                                     std::optional<std::uint32_t> fallback) {
  const auto value = find(key);
  if (!value && fallback) return *fallback;
  if (!value || !value->is(Kind::kNatural) || value->natural() > most) {
    refuse(key, allowed);
  }
  return static_cast<std::uint32_t>(value->natural());
}

bool ConfigSection::truth(std::string_view key, bool fallback) {
  const auto value = find(key);
  if (!value) return fallback;
  if (!value->is(Kind::kBoolean)) refuse(key, "true or false");
  return value->text() == "true";
}

std::string ConfigSection::text(std::string_view key, std::string_view allowed, std::optional<std::string> fallback) {
  const auto value = find(key);
  if (!value && fallback) return *fallback;
  if (!value || !value->is(Kind::kString)) refuse(key, allowed);
  return std::string(value->text());
}

std::size_t ConfigSection::choice(std::string_view key, std::initializer_list<std::string_view> words) {
  std::string allowed;
  for (const auto word : words) {
    allowed += (allowed.empty() ? "\"" : ", \"") + std::string(word) + '"';
  }
  const std::string value = text(key, allowed, std::string(*words.begin()));
  const auto word = std::find(words.begin(), words.end(), value);
  if (word == words.end()) refuse(key, allowed);
  return static_cast<std::size_t>(word - words.begin());
}

JsonValue ConfigSection::array(std::string_view key, std::string_view allowed) {
  const JsonValue value = get(key, allowed);
  if (!value.is(Kind::kArray)) refuse(key, allowed);
  return value;
}

void ConfigSection::warn_about_unknown_keys(Notices& notices) const {
  constexpr std::size_t kMostKeys = 16;
  std::string unknown;
  std::size_t count = 0;
  for (const std::string_view key : object_.keys()) {
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    if (++count <= kMostKeys) unknown += (count == 1 ? "" : ", ") + excerpt(key);
  }
  if (count == 0) return;
  if (count > kMostKeys) unknown += " and " + std::to_string(count - kMostKeys) + " more";
  notices.warn_once("unknown in " + name_, name_ + " has keys that mean nothing and are ignored: " + unknown);
}

}  // namespace tensorstat
