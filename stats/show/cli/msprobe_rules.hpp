// `tensorstat diff A B --rules msprobe`: the table of msprobe's compare.
#pragma once

#include <string>

#include "stats/show/cli/terminal/console.hpp"

namespace tensorstat::cli {

struct MsprobeArguments {
  std::string names;    // the text of a file of --names
  std::string mapping;  // "cell=FILE"
  bool is_fuzzy = false;
  std::string merge;  // the path of a config of merge_result
};

// Writes the table to `output`; empty: stdout. With several pairs of dumps, each has a table of its own: out_rank1.csv;
// with `merge` all have one. Returns the exit status: kFound if a row does not pass or has no partner.
int run_msprobe_rules(const std::string& a, const std::string& b, const MsprobeArguments& arguments,
                      const std::string& output, Console& console);

}  // namespace tensorstat::cli
