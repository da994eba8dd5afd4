// The subcommands. Each has its options, help and code in a file of its own.
//
// To add one: a file <name>_command.cpp that defines <name>_command(), its declaration below, and its place in the
// list.
#pragma once

#include <functional>
#include <string_view>

#include "stats/show/cli/options/app.hpp"
#include "stats/show/cli/terminal/console.hpp"

namespace tensorstat::cli {

struct Subcommand {
  CLI::App* app;
  std::function<int(Console&)> run;  // returns the exit status; call it after parsing if app->parsed()
};

// Adds the subcommand and its options to the command.
Subcommand explain_command(CLI::App& command);
Subcommand devices_command(CLI::App& command);
Subcommand dump_command(CLI::App& command);
Subcommand convert_command(CLI::App& command);
Subcommand diff_command(CLI::App& command);
Subcommand origin_command(CLI::App& command);
Subcommand report_command(CLI::App& command);
Subcommand top_command(CLI::App& command);
Subcommand store_command(CLI::App& command);
Subcommand trend_command(CLI::App& command);
Subcommand attach_command(CLI::App& command);
Subcommand plan_command(CLI::App& command);
Subcommand fold_command(CLI::App& command);
Subcommand merge_command(CLI::App& command);
Subcommand events_command(CLI::App& command);

struct NamedSubcommand {
  std::string_view name;
  Subcommand (*add)(CLI::App& command);
};

// In the order in which --help lists them.
inline constexpr NamedSubcommand kSubcommands[] = {
    {"explain", explain_command}, {"devices", devices_command}, {"dump", dump_command},
    {"convert", convert_command}, {"diff", diff_command},       {"origin", origin_command},
    {"report", report_command},   {"trend", trend_command},     {"top", top_command},
    {"events", events_command},   {"store", store_command},     {"attach", attach_command},
    {"plan", plan_command},       {"fold", fold_command},       {"merge", merge_command},
};

}  // namespace tensorstat::cli
