// The command's options as rows, for man pages and completions.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "stats/show/cli/options/suggestions.hpp"

namespace tensorstat::cli {

struct OptionRow {
  std::vector<std::string> flags;  // "-o", "--output"; empty for a positional
  std::string positional;          // "PATH"; empty for an option
  std::string value;               // "FILE"; empty if it takes no value
  std::string description;
  bool is_required = false, is_list = false;  // takes several values
  Suggestions suggestions;

  bool takes_value() const { return !value.empty(); }
  bool takes_file() const { return value == "FILE" || positional == "PATH"; }
  bool takes_folder() const { return value == "DIR"; }
};

// The options of a command or a subcommand, as they were declared.
inline std::vector<OptionRow> rows_of(CLI::App& app) {
  std::vector<OptionRow> rows;
  for (CLI::Option* option : app.get_options([](CLI::Option*) { return true; })) {
    OptionRow row;
    for (const std::string& name : option->get_snames()) row.flags.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) row.flags.push_back("--" + name);
    if (option->get_positional()) row.positional = option->get_name(true, false);
    if (option->get_type_size() != 0) row.value = option->get_type_name();
    row.description = option->get_description();
    row.is_required = option->get_required();
    row.is_list = option->get_items_expected_max() > 1;
    row.suggestions = suggestions(*option);
    rows.push_back(std::move(row));
  }
  return rows;
}

inline std::vector<CLI::App*> subcommands_of(CLI::App& app) {
  return app.get_subcommands([](CLI::App* each) { return !each->get_name().empty(); });
}

// The text up to the end of its first clause: completions have one line per option.
inline std::string brief(const std::string& text) {
  return text.substr(0, std::min({text.find(';'), text.find(": "), text.find('\n')}));
}

}  // namespace tensorstat::cli
