// Makes the man pages, as roff.
#pragma once

#include <string>

#include "stats/show/cli/options/app.hpp"

namespace tensorstat::cli {

std::string man_of_command(CLI::App& app);            // tensorstat(1)
std::string man_of_subcommand(CLI::App& subcommand);  // tensorstat-dump(1)
std::string man_of_statistic_csv();                   // statistic.csv(5)

}  // namespace tensorstat::cli
