// The options and the subcommands of the command line.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <variant>

#include "stats/show/cli/options/app.hpp"
#include "stats/show/cli/options/arguments.hpp"
#include "stats/show/cli/options/plain_options.hpp"
#include "stats/show/cli/subcommand.hpp"

namespace tensorstat::cli {

// Declares the options once, for parsing, the help, the man pages and the completions.
class CommandLine {
 public:
  CommandLine() : CommandLine(std::span<const char* const>()) {}
  // Without the subcommands that none of these arguments can mean: making the options of all takes a quarter of the
  // start of the command.
  explicit CommandLine(std::span<const char* const> words);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  CLI::App& app() { return *app_; }

  // Call it once. Returns the arguments, or the subcommand, or the exit status after the help, the version or an error
  // has been printed.
  using Parsed = std::variant<Arguments, Subcommand, int>;
  Parsed parse(int argc, const char* const* argv);

 private:
  std::string name_of_call() const;  // "tensorstat diff"

  std::unique_ptr<CLI::App> app_;
  PlainOptions options_;
  std::vector<Subcommand> subcommands_;
};

}  // namespace tensorstat::cli
