// The configs of several frameworks. Each is recognised by its keys.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <tensorstat/status.hpp>

#include "stats/data/rows/notices.hpp"
#include "stats/job/dump/config/config_section.hpp"
#include "stats/job/dump/config/dump_config.hpp"

namespace tensorstat {

// The settings from outside of the config.
struct ConfigSetting {
  std::string_view diagnostic_data_path;  // the value of MS_DIAGNOSTIC_DATA_PATH
  // Used if the config has no path or an empty one. A path in the config is checked even if it is not used.
  std::string_view callers_path;
  // The value of ASCEND_DUMP_PATH, or else of ASCEND_WORK_PATH. As in CANN, exceptions are dumped there without a path.
  std::string_view ascend_path = {};
};

// One framework's config. The list of them is in config_dialect.cpp.
struct ConfigDialect {
  std::string_view name;                      // "MindSpore's data_dump.json"
  std::string_view marks;                     // the key that it is recognised by: "common_dump_settings"
  bool (*recognises)(const JsonValue& root);  // root is an object
  // Throws a Refusal that names the key, its value and the allowed values. Reports corrections and unknown keys.
  DumpConfig (*read)(const JsonValue& root, const ConfigSetting& setting, Notices& notices);
};

// The dialect that reads a config, whose root is an object; nullptr: none recognises it.
const ConfigDialect* dialect_of(const JsonValue& root);

// Reads a config of any dialect. An error names the key, its value and the allowed values. If no dialect recognises the
// text, the error lists the keys by which they are recognised. Corrections, duplicate keys and unknown keys are
// reported through `notices`, once each.
Result<DumpConfig> parse_config(std::string_view text, const ConfigSetting& setting, Notices& notices);

// Reads a regular file with a name that ends in .json. Looks up MS_DIAGNOSTIC_DATA_PATH.
Result<DumpConfig> read_config(const std::string& path, Notices& notices, std::string_view callers_path = {});

// Reads the file that MINDSPORE_DUMP_CONFIG names; nullopt if the variable is unset or empty.
Result<std::optional<DumpConfig>> config_from_environment(Notices& notices, std::string_view callers_path = {});

// parse_config() with MS_DIAGNOSTIC_DATA_PATH looked up.
Result<DumpConfig> parse_config_here(std::string_view text, Notices& notices, std::string_view callers_path = {});

}  // namespace tensorstat
