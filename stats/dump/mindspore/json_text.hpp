// JSON that may be hostile.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <tensorstat/status.hpp>
#include <vector>

namespace tensorstat {

struct JsonDocument {
  nlohmann::json root;
  std::vector<std::string> duplicates;  // "a.b": keys that came again, where the last one won
};

// At most 1 MiB of text and 64 levels; beyond, and for wrong syntax, an error with line and column.
// An integer beyond 64 bits comes as a float, which no integer key accepts.
Result<JsonDocument> parse_json(std::string_view text);

// A value for an error message: one line of ASCII, cut after 80 characters.
std::string excerpt(const nlohmann::json& value);

}  // namespace tensorstat
