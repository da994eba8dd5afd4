// The configs of several frameworks, each told by what it holds.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tensorstat/status.hpp>

#include "stats/dump/config/config_section.hpp"
#include "stats/dump/config/dump_config.hpp"
#include "stats/rows/notices.hpp"

namespace tensorstat {

// What a config is read with.
struct ConfigSetting {
  std::string_view diagnostic_data_path;  // what MS_DIAGNOSTIC_DATA_PATH says
  // Unless it is empty, it stands in for a path that the config misses or leaves empty; one that is given is checked.
  std::string_view callers_path;
};

// One framework's config. The list of them is in config_dialect.cpp.
struct ConfigDialect {
  std::string_view name;   // "MindSpore's data_dump.json"
  std::string_view marks;  // what it is told by: "common_dump_settings"
  bool (*recognises)(const JsonValue& root);  // root is an object
  // Throws a Refusal that names the key, its value and what is allowed. Corrections and unknown keys are said.
  DumpConfig (*read)(const JsonValue& root, const ConfigSetting& setting, Notices& notices);
};

// A config of any dialect. An error names the key, its value and what is allowed, or, where the text is no config of a
// known dialect, what was looked for. Corrections, keys that come twice and unknown keys are said through `notices`,
// each once.
Result<DumpConfig> parse_config(std::string_view text, const ConfigSetting& setting, Notices& notices);

// The same of a regular file whose name ends in .json; MS_DIAGNOSTIC_DATA_PATH is looked up.
Result<DumpConfig> read_config(const std::string& path, Notices& notices, std::string_view callers_path = {});

// The file that MINDSPORE_DUMP_CONFIG names; nothing when it is unset or empty.
Result<std::optional<DumpConfig>> config_from_environment(Notices& notices, std::string_view callers_path = {});

// parse_config() with MS_DIAGNOSTIC_DATA_PATH looked up.
Result<DumpConfig> parse_config_here(std::string_view text, Notices& notices, std::string_view callers_path = {});

}  // namespace tensorstat
