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
  App app;
  std::function<int(Console&)> run;  // returns the exit status; call it after parsing if app->parsed()
};

// Adds the subcommand and its options to the command.
Subcommand explain_command(App command);
Subcommand devices_command(App command);
Subcommand dump_command(App command);
Subcommand convert_command(App command);
Subcommand diff_command(App command);
Subcommand origin_command(App command);
Subcommand report_command(App command);
Subcommand top_command(App command);
Subcommand store_command(App command);
Subcommand trend_command(App command);
Subcommand attach_command(App command);
Subcommand plan_command(App command);
Subcommand fold_command(App command);
Subcommand merge_command(App command);
Subcommand events_command(App command);

struct NamedSubcommand {
  std::string_view name;
  Subcommand (*add)(App command);
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
