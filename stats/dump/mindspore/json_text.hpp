// JSON that may be hostile.
#pragma once

#include <cstddef>
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

// The largest text that is read: 100,000 operators' names, each as long as MindSpore makes them.
inline constexpr std::size_t kMostJsonBytes = std::size_t{16} << 20;

// At most kMostJsonBytes of text and 64 levels; beyond, and for wrong syntax, an error with line and column.
// An integer beyond 64 bits comes as a float, which no integer key accepts.
Result<JsonDocument> parse_json(std::string_view text);

// A text as JSON, with its quotes. What is no UTF-8 becomes U+FFFD.
std::string json_quoted(std::string_view text);

// A value for an error message: one line of ASCII, cut after 80 characters.
std::string excerpt(const nlohmann::json& value);

}  // namespace tensorstat
