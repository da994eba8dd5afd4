// `tensorstat dump`: replays dumped tensors with a config.

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <tuple>

#include "stats/data/files/io/whole_file.hpp"
#include "stats/data/json/json_text.hpp"
#include "stats/data/rows/dialect.hpp"
#include "stats/job/dump/config/config_dialect.hpp"
#include "stats/job/dump/mindspore/config.hpp"
#include "stats/job/dump/msprobe/config.hpp"
#include "stats/job/dump/replay/replay.hpp"
#include "stats/show/cli/exit_status.hpp"
#include "stats/show/cli/inputs.hpp"
#include "stats/show/cli/options/options.hpp"
#include "stats/show/cli/read_status.hpp"
#include "stats/show/cli/subcommand.hpp"

namespace tensorstat::cli {

namespace {

struct DumpArguments {
  std::string config;  // empty: the file that MINDSPORE_DUMP_CONFIG names
  std::vector<std::string> paths;
  std::string output;     // empty: the config's `path`
  std::string framework;  // as in DumpOptions
  Dialect dialect = Dialect::kMindspore27;
  bool by_step = false, device_rows = false, has_dialect = false;
  bool append = false, replace = false;
};

// An error if an option belongs to another framework's config. A config that cannot be read is told by its reader.
Status check_options(const DumpArguments& arguments, std::string_view text) {
  const auto document = parse_json(text);
  if (!document || !document->root().is(JsonValue::Kind::kObject)) return {};
  const ConfigDialect* dialect = dialect_of(document->root());
  if (dialect == nullptr) return {};
  const std::tuple<const char*, bool, const ConfigDialect*> users[] = {
      {"--dialect", arguments.has_dialect, &kMindsporeConfig},
      {"--device-rows", arguments.device_rows, &kMindsporeConfig},
      {"--by-step", arguments.by_step, &kMindsporeConfig},
      {"--framework", !arguments.framework.empty(), &kMsprobeConfig}};
  for (const auto& [option, is_given, user] : users) {
    if (!is_given || user == dialect) continue;
    return Error{Code::kInvalid,
                 std::string(option) + " does nothing with this config: it is for " + std::string(user->name)};
  }
  return {};
}

int run_dump(const DumpArguments& arguments, Console& console) {
  std::string config = arguments.config;
  if (const char* named = std::getenv("MINDSPORE_DUMP_CONFIG"); config.empty() && named != nullptr) {
    config = named;
  }
  if (config.empty()) {
    console.say("no config: give --config FILE, or set MINDSPORE_DUMP_CONFIG");
    return kUsage;
  }
  const auto text = read_whole_file(config, kMostJsonBytes);
  if (!text) {
    console.say("the config " + text.error().message);
    return kUsage;
  }
  if (Status allowed = check_options(arguments, *text); !allowed) return console.say(allowed.error().message), kUsage;
  const Inputs inputs = find_inputs(arguments.paths, FileOrder::kGiven, Rows::kLeft);
  if (!inputs.tensors_of.empty()) return console.say("dump takes files and folders, and no FILE::TENSOR"), kUsage;
  int exit = kDone;
  const auto complain = [&](const Error& error) {
    console.complain(error.message);
    exit = std::max<int>(exit, status_of(error));
  };
  for (const Error& fault : inputs.faults) complain(fault);
  for (const std::string& note : inputs.notes) console.say(note);

  DumpOptions options;
  options.log = log_to(console, false);
  options.dialect = arguments.dialect;
  options.layout = arguments.by_step ? DumpLayout::kByStep : DumpLayout::kByRank;
  options.path = arguments.output;
  options.framework = arguments.framework;
  options.device_rows = arguments.device_rows;
  const Existing existing = arguments.append    ? Existing::kAppend
                            : arguments.replace ? Existing::kReplace
                                                : Existing::kRefuse;
  const auto counters =
      replay(*text, inputs.files, std::move(options), existing,
             {complain, [&](std::size_t done, std::size_t total) { console.progress(done, total, 0); }});
  console.hide_progress();
  if (!counters && counters.error().code == Code::kUnwritable) {
    console.say(counters.error().message + (existing == Existing::kRefuse
                                                ? "; give --append to add to it, --replace to replace it, or another -o"
                                                : ""));
    return kNotWritten;
  }
  if (!counters) {
    console.say(config + ": " + counters.error().message);
    return kUsage;
  }
  console.say(counted_noun(counters->tensor_count, "tensor") + " of " + counted_noun(inputs.files.size(), "file") +
              " dumped: " + counted_noun(counters->row_count, "row") + ", " +
              counted_noun(counters->file_count, "file"));
  if (counters->lost_row_count + counters->lost_tensor_count != 0) return kNotWritten;
  return exit;
}

}  // namespace

Subcommand dump_command(App command) {
  const auto arguments = std::make_shared<DumpArguments>();
  App dump = command.add_subcommand(
      "dump",
      "Replay dumped tensors through a config (data_dump.json, msprobe's config.json, acl.json): write the files "
      "that a dump with this config would have written");
  dump.add_option("PATH", arguments->paths, "Dumped files (.npy, Ascend's dump files), directories and globs")
      .type_name("")
      .required();
  dump.add_option("--config", arguments->config, "The config; by default the file that MINDSPORE_DUMP_CONFIG names")
      .type_name("FILE");
  dump.add_option("-o,--output", arguments->output, "Write below this directory instead of the config's `path`")
      .check(names_output())
      .type_name("DIR");
  // Only dialects with one form of statistic.csv for every config.
  Choices<Dialect> dialects;
  std::vector<std::string> names;
  for (const std::string_view each : dialect_names()) {
    if (!value_of(*dialect_from(each)).orders.empty()) continue;
    dialects.emplace_back(each, *dialect_from(each));
    names.emplace_back(each);
  }
  add_choice(dump, "--dialect", arguments->dialect, dialects, "How statistic.csv is written")
      .type_name(joined_words(names, "|"));
  Choices<std::string> frameworks;
  for (const char* each : {"mindspore", "pytorch", "mindtorch"}) frameworks.emplace_back(each, each);
  add_choice(dump, "--framework", arguments->framework, frameworks,
             "The framework that names the types in msprobe's dump.json")
      .type_name("mindspore|pytorch|mindtorch");
  dump.add_flag("--device-rows", arguments->device_rows,
                "With stat_calc_mode device, write the rows of MindSpore's device: True, False, all digits of "
                "integers, null for what the device does not compute");
  dump.add_flag("--by-step", arguments->by_step,
                "Write the folders of MindSpore's O2: STEP/TIME/DEVICE/MODEL/ID/ITERATION");
  Option append = dump.add_flag("--append", arguments->append,
                                "If an earlier dump exists, add to its statistic.csv and its tensors");
  dump.add_flag("--replace", arguments->replace,
                "If an earlier dump exists, replace files of the same names, each as a whole, once everything is "
                "written")
      .excludes(append);
  dump.parse_complete_callback([arguments, dump] { arguments->has_dialect = dump.is_given("--dialect"); });
  return {dump, [arguments](Console& console) { return run_dump(*arguments, console); }};
}

}  // namespace tensorstat::cli
