// `tensorstat diff` and `tensorstat origin`: where two runs part, and where NaN and Inf began in one.
#pragma once

#include <string>
#include <tensorstat/compare.hpp>

#include "stats/cli/options/app.hpp"
#include "stats/cli/report/console.hpp"

namespace tensorstat::cli {

struct DiffArguments {
  std::string a, b;
  DiffOptions options;             // but for the texts of
  std::string tolerances, names;   // these files
  bool all = false, is_json = false;
  std::string rules;   // "msprobe", or empty: our own
  std::string output;  // empty: stdout
};

struct OriginArguments {
  std::string path;
  bool nan_only = false, inf = false, all = false, is_json = false;
  std::string output;
};

// Adds the subcommand to `app`; what it is given goes to `arguments`, which outlives the parsing.
CLI::App* add_diff_command(CLI::App& app, DiffArguments& arguments);
CLI::App* add_origin_command(CLI::App& app, OriginArguments& arguments);

// The exit status: kFound where something differs, or where NaN or Inf is and did not end.
int run_diff(const DiffArguments& arguments, const MeterOptions& meter, Console& console);
int run_origin(const OriginArguments& arguments, const MeterOptions& meter, Console& console);

}  // namespace tensorstat::cli
