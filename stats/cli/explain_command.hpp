// `tensorstat explain`: what a statistic is, what NaN does to it, and what it costs.
#pragma once

#include <string>
#include <tensorstat/catalog.hpp>
#include <vector>

#include "stats/cli/options/app.hpp"

namespace tensorstat::cli {

struct ExplainArguments {
  std::vector<std::string> names;  // each a list as --stats takes it; none: every statistic
};

// Adds the subcommand to `app`; what it is given goes to `arguments`, which outlives the parsing.
CLI::App* add_explain_command(CLI::App& app, ExplainArguments& arguments);

// What the pass over a tensor keeps for it, and which others are then free.
std::string cost(Category category);

// The text for these statistics; an error where a name is none.
Result<std::string> explanations(const ExplainArguments& arguments);

}  // namespace tensorstat::cli
