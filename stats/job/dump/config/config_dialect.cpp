#include "stats/job/dump/config/config_dialect.hpp"

#include <cstdlib>
#include <utility>

#include "stats/data/files/io/whole_file.hpp"
#include "stats/job/dump/cann/acl_config.hpp"
#include "stats/job/dump/mindspore/config.hpp"
#include "stats/job/dump/msprobe/config.hpp"

namespace tensorstat {
namespace {

// To add a dialect: its folder beside mindspore/, and its row here. The first dialect that recognises a config reads
// it.
constexpr const ConfigDialect* kDialects[] = {&kMindsporeConfig, &kMsprobeConfig, &kAclConfig};

Refusal unknown_config() {
  std::string known;
  for (const ConfigDialect* dialect : kDialects) {
    known += (known.empty() ? "" : "; ") + std::string(dialect->name) + " has " + std::string(dialect->marks);
  }
  return {"it is no config that is known here: " + known};
}

}  // namespace

const ConfigDialect* dialect_of(const JsonValue& root) {
  for (const ConfigDialect* dialect : kDialects) {
    if (dialect->recognises(root)) return dialect;
  }
  return nullptr;
}

Result<DumpConfig> parse_config(std::string_view text, const ConfigSetting& setting, Notices& notices) try {
  auto document = parse_json(text);
  if (!document) return document.error();
  for (const auto& key : document->duplicates()) {
    notices.warn_once("twice " + key, key + " is given more than once; the last one counts");
  }
  const JsonValue root = document->root();
  if (!root.is(JsonValue::Kind::kObject)) throw Refusal{"it is not a JSON object { }"};
  const ConfigDialect* dialect = dialect_of(root);
  if (dialect == nullptr) throw unknown_config();
  DumpConfig config = dialect->read(root, setting, notices);
  config.text = text;
  return config;
} catch (Refusal& refusal) {
  return Error{Code::kInvalid, std::move(refusal.why)};
}

Result<DumpConfig> parse_config_here(std::string_view text, Notices& notices, std::string_view callers_path) {
  const auto value_of = [](const char* name) -> std::string_view {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
  };
  const std::string_view dump = value_of("ASCEND_DUMP_PATH");
  const std::string_view ascend = dump.empty() ? value_of("ASCEND_WORK_PATH") : dump;
  return parse_config(text, {value_of("MS_DIAGNOSTIC_DATA_PATH"), callers_path, ascend}, notices);
}

Result<DumpConfig> read_config(const std::string& path, Notices& notices, std::string_view callers_path) {
  if (!path.ends_with(".json")) return Error{Code::kUnreadable, path + ": the name of a dump config ends in .json"};
  const auto text = read_whole_file(path, kMostJsonBytes);
  if (!text) return text.error();
  auto config = parse_config_here(*text, notices, callers_path);
  if (!config) return Error{config.error().code, path + ": " + config.error().message};
  return config;
}

Result<std::optional<DumpConfig>> config_from_environment(Notices& notices, std::string_view callers_path) {
  const char* path = std::getenv("MINDSPORE_DUMP_CONFIG");
  if (path == nullptr || *path == '\0') return std::optional<DumpConfig>();
  auto config = read_config(path, notices, callers_path);
  if (!config) return config.error();
  return std::optional<DumpConfig>(*std::move(config));
}

}  // namespace tensorstat
