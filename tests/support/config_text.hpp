// A data_dump.json with some keys changed, and the result of parsing it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stats/job/dump/config/config_dialect.hpp"

namespace tensorstat {

// `common` and `e2e` are merged over a correct config; null removes a key.
std::string config_text(const std::string& common, const std::string& e2e = "{}");

struct Parsed {
  std::optional<DumpConfig> config;
  std::string error;
  std::vector<std::string> messages;

  bool said_once(const std::string& words) const;
};

Parsed parsed(const std::string& text, const std::string& diagnostic_data_path = "");

}  // namespace tensorstat
