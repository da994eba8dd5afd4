// Completions for the shells.
#pragma once

#include <string>

#include "stats/show/cli/options/app.hpp"

namespace tensorstat::cli {

std::string bash_completion(CLI::App& app);
std::string zsh_completion(CLI::App& app);
std::string fish_completion(CLI::App& app);

}  // namespace tensorstat::cli
