// `tensorstat diff A B --rules msprobe`: the table of msprobe's compare.
#pragma once

#include "stats/cli/report/console.hpp"
#include "stats/cli/diff_command.hpp"

namespace tensorstat::cli {

// The exit status: kFound where a row is no pass or has no partner.
int run_msprobe_rules(const DiffArguments& arguments, Console& console);

}  // namespace tensorstat::cli
