// One object of a config, read key by key.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stats/data/json/json_text.hpp"
#include "stats/data/rows/notices.hpp"

namespace tensorstat {

// Why a config is refused. Thrown inside the parser only, and turned into an Error there.
struct Refusal {
  std::string why;
};

// Reads values of an object. Throws a Refusal that names the key, its value and the allowed values. Remembers which
// keys were asked for.
class ConfigSection {
 public:
  ConfigSection(JsonValue object, std::string name) : object_(object), name_(std::move(name)) {}

  // The value of `key`, if there is one.
  std::optional<JsonValue> find(std::string_view key);
  JsonValue get(std::string_view key, std::string_view allowed);

  [[noreturn]] void refuse(std::string_view key, std::string_view allowed) const;

  // A number without sign, point or quotes. If the key is missing: `fallback`; without one, a Refusal.
  std::uint32_t natural(std::string_view key, std::uint32_t most, std::string_view allowed,
                        std::optional<std::uint32_t> fallback);
  bool truth(std::string_view key, bool fallback);
  std::string text(std::string_view key, std::string_view allowed, std::optional<std::string> fallback);
  // The index of the value in `words`; 0 if the key is missing.
  std::size_t choice(std::string_view key, std::initializer_list<std::string_view> words);
  JsonValue array(std::string_view key, std::string_view allowed);

  // One warning that lists all keys nobody asked for.
  void warn_about_unknown_keys(Notices& notices) const;

 private:
  JsonValue object_;
  std::string name_;
  std::vector<std::string> known_;
};

}  // namespace tensorstat
