// `tensorstat dump`: replays dumped tensors through a config.
#pragma once

#include <string>
#include <tensorstat/dump.hpp>
#include <vector>

#include "stats/cli/options/app.hpp"
#include "stats/cli/report/console.hpp"

namespace tensorstat::cli {

struct DumpArguments {
  std::string config;  // empty: what MINDSPORE_DUMP_CONFIG names
  std::vector<std::string> paths;
  std::string output;  // empty: `path` of the config
  std::string framework;  // of DumpOptions
  Dialect dialect = Dialect::kMindspore27;
  bool by_step = false, device_rows = false;
  bool append = false, replace = false;
};

// Adds the subcommand to `app`; what it is given goes to `arguments`, which outlives the parsing.
CLI::App* add_dump_command(CLI::App& app, DumpArguments& arguments);

// The exit status.
int run_dump(const DumpArguments& arguments, const MeterOptions& meter, Console& console);

}  // namespace tensorstat::cli
