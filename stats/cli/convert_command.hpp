// `tensorstat convert`: rows of statistics from one dialect into another.
#pragma once

#include <optional>
#include <string>
#include <tensorstat/rows.hpp>
#include <vector>

#include "stats/cli/options/app.hpp"
#include "stats/cli/report/console.hpp"

namespace tensorstat::cli {

struct ConvertArguments {
  std::vector<std::string> paths;
  std::string output;
  std::optional<Dialect> to;  // none: msprobe's dump.json
};

CLI::App* add_convert_command(CLI::App& app, ConvertArguments& arguments);

// The exit status.
int run_convert(const ConvertArguments& arguments, Console& console);

}  // namespace tensorstat::cli
