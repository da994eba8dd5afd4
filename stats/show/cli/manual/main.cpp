// Writes the man pages below the first folder, and the completions into the second.
#include <fstream>
#include <iostream>
#include <string>

#include "stats/show/cli/manual/completions.hpp"
#include "stats/show/cli/manual/man_pages.hpp"
#include "stats/show/cli/manual/option_table.hpp"
#include "stats/show/cli/options/command_line.hpp"

namespace {

bool write(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) std::cerr << path << ": cannot be written\n";
  return static_cast<bool>(file);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace tensorstat::cli;
  if (argc != 3) return std::cerr << "usage: tensorstat_manual MAN_FOLDER COMPLETIONS_FOLDER\n", 2;
  const std::string man = argv[1], completions = argv[2];
  CommandLine line;
  CLI::App& app = line.app();
  bool done = true;
  for (CLI::App* each : subcommands_of(app)) {
    done = done && write(man + "/man1/tensorstat-" + each->get_name() + ".1", man_of_subcommand(*each));
  }
  done = done && write(man + "/man1/tensorstat.1", man_of_command(app)) &&
         write(man + "/man5/statistic.csv.5", man_of_statistic_csv()) &&
         write(completions + "/tensorstat", bash_completion(app)) &&
         write(completions + "/_tensorstat", zsh_completion(app)) &&
         write(completions + "/tensorstat.fish", fish_completion(app));
  return done ? 0 : 1;
}
