// One object of a config, read key by key.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stats/json/json_text.hpp"
#include "stats/rows/notices.hpp"

namespace tensorstat {

// Why a config is refused. Thrown inside the parser only, and turned into an Error there.
struct Refusal {
  std::string why;
};

// Reads values out of an object and throws a Refusal that names key, value and what is allowed.
// At the end, warns about the keys that nobody asked for.
class ConfigSection {
 public:
  ConfigSection(JsonValue object, std::string name)
      : object_(object), name_(std::move(name)) {}

  // The value under `key`, where there is one.
  std::optional<JsonValue> find(std::string_view key);
  JsonValue get(std::string_view key, std::string_view allowed);

  [[noreturn]] void refuse(std::string_view key, std::string_view allowed) const;

  // A number without sign, point or quotes. Missing: `fallback`, or a Refusal when there is none.
  std::uint32_t natural(std::string_view key, std::uint32_t most, std::string_view allowed,
                        std::optional<std::uint32_t> fallback);
  bool truth(std::string_view key, bool fallback);
  std::string text(std::string_view key, std::string_view allowed,
                   std::optional<std::string> fallback);
  // Which of `words` it is; the first one when the key is missing.
  std::size_t choice(std::string_view key, std::initializer_list<std::string_view> words);
  JsonValue array(std::string_view key, std::string_view allowed);

  // One warning for all the keys that nothing has asked for.
  void warn_about_unknown_keys(Notices& notices) const;

 private:
  JsonValue object_;
  std::string name_;
  std::vector<std::string> known_;
};

}  // namespace tensorstat
