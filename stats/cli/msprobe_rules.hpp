// `tensorstat diff A B --rules msprobe`: the table of msprobe's compare.
#pragma once

#include <string>

#include "stats/cli/report/console.hpp"

namespace tensorstat::cli {

// Written to `output`; empty: stdout. The exit status: kFound where a row is no pass or has no partner.
int run_msprobe_rules(const std::string& a, const std::string& b, const std::string& output, Console& console);

}  // namespace tensorstat::cli
