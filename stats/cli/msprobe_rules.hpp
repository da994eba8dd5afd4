// `tensorstat diff A B --rules msprobe`: the table of msprobe's compare.
#pragma once

#include <string>

#include "stats/cli/report/console.hpp"

namespace tensorstat::cli {

// Writes the table to `output`; empty: stdout. With several pairs of dumps, each has a table of its own: out_rank1.csv.
// `names` is the text of a file of --names. Returns the exit status: kFound if a row does not pass or has no partner.
int run_msprobe_rules(const std::string& a, const std::string& b, const std::string& names, const std::string& output,
                      Console& console);

}  // namespace tensorstat::cli
