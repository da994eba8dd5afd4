#include "stats/show/cli/options/command_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "stats/core/base/printable.hpp"
#include "stats/show/cli/options/help.hpp"

namespace tensorstat::cli {
namespace {

// Options before a subcommand belong to the command without one. They would have no effect.
void refuse_unused_options(const CLI::App& app, const std::string& subcommand) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0) continue;
    const bool is_path = option->get_positional();
    throw CLI::ValidationError((is_path ? "the path " + option->results().front() : option->get_name()) +
                               " does nothing with `tensorstat " + subcommand + "`; a file or folder named " +
                               subcommand + " is named ./" + subcommand);
  }
}

// A variable of the shell that is not set: the option would be taken for one that is not there.
void refuse_empty_values(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional() || option->count() == 0) continue;
    for (const std::string& value : option->results()) {
      if (value.empty()) throw CLI::ValidationError(option->get_name(), "the value is empty");
    }
  }
}

// Whether an argument may ask for the help, which lists every subcommand: --help, --help-all, -h, -qh.
bool asks_for_help(std::string_view word) {
  const bool is_short = word.starts_with('-') && !word.starts_with("--");
  return word.starts_with("--help") || (is_short && word.find('h') != word.npos);
}

}  // namespace

CommandLine::CommandLine(std::span<const char* const> words)
    : app_(std::make_unique<CLI::App>("Statistics of tensors: max, min, avg, l2norm, how many NaN, Inf and zeros, MD5.",
                                      "tensorstat")) {
  app_->formatter(std::make_shared<Help>());
  app_->set_version_flag("--version", "tensorstat " + version());
  app_->get_option("--help")->description("Show this and exit");
  app_->get_option("--version")->description("Show the version and exit");

  options_.declare(*app_, PlainOptions::kAll);
  const bool needs_all = words.empty() || std::ranges::any_of(words, asks_for_help);
  for (const auto& [name, add] : kSubcommands) {
    if (needs_all || std::ranges::count(words, name) != 0) subcommands_.push_back(add(*app_));
  }
  app_->require_subcommand(0, 1);  // behind one, a folder may be called as another one is: diff a dump
  app_->set_help_all_flag("--help-all", "Show every option, the statistics and the exit statuses");
}

CommandLine::~CommandLine() = default;

std::string CommandLine::name_of_call() const {
  const auto called = app_->get_subcommands();
  return called.empty() ? "tensorstat" : "tensorstat " + called.front()->get_name();
}

CommandLine::Parsed CommandLine::parse(int argc, const char* const* argv) {
  try {
    app_->parse(argc, argv);
    for (Subcommand& subcommand : subcommands_) {
      if (!subcommand.app.cli11().parsed()) continue;
      refuse_empty_values(subcommand.app.cli11());
      refuse_unused_options(*app_, subcommand.app.cli11().get_name());
      return std::move(subcommand);
    }
    if (options_.paths().empty()) {
      throw CLI::ValidationError("nothing to read: name a file, a directory or a glob");
    }
    Arguments arguments = options_.take();
    refuse_empty_values(*app_);
    return arguments;
  } catch (const CLI::Success& answered) {  // --help, --version
    const int status = app_->exit(answered);
    if (std::cout.flush()) return status;
    std::cerr << "tensorstat: stdout: cannot be written\n";
    return kNotWritten;
  } catch (const CLI::ExtrasError& error) {
    // CLI11 reports the leftover words. The cause is an unknown option: its value was taken for a path.
    const std::vector<std::string> left = app_->remaining(true);
    const auto option =
        std::ranges::find_if(left, [](const std::string& each) { return each.starts_with('-') && each != "-"; });
    const std::string name = name_of_call();
    std::cerr << "tensorstat: "
              << (option == left.end() ? printable(error.what()) : "`" + name + "` has no option " + printable(*option))
              << "\nTry '" << name << " --help'.\n";
    return kUsage;
  } catch (const CLI::ParseError& error) {
    std::cerr << "tensorstat: " << printable(error.what()) << "\nTry '" << name_of_call() << " --help'.\n";
    return kUsage;
  }
}

}  // namespace tensorstat::cli
