#include "stats/show/cli/manual/completions.hpp"

#include <algorithm>

#include "stats/show/cli/manual/option_table.hpp"

namespace tensorstat::cli {
namespace {

std::string joined(const std::vector<std::string>& words, const std::string& between) {
  return CLI::detail::join(words, between);
}

// Each suggestion as one shell word. In a statistic's name - may replace a space.
std::vector<std::string> typed(const Suggestions& suggestions) {
  std::vector<std::string> words = suggestions.words;
  for (std::string& word : words) std::ranges::replace(word, ' ', '-');
  return words;
}

std::string without(std::string text, const std::string& characters) {
  std::erase_if(text, [&](char c) { return characters.find(c) != characters.npos; });
  return text;
}

std::vector<std::string> flags_of(CLI::App& app) {
  std::vector<std::string> flags;
  for (const OptionRow& row : rows_of(app)) flags.insert(flags.end(), row.flags.begin(), row.flags.end());
  return flags;
}

// The branches of bash's `case` on the word before the cursor.
std::string bash_values(CLI::App& app) {
  std::string text;
  for (const OptionRow& row : rows_of(app)) {
    if (row.flags.empty() || !row.takes_value()) continue;
    const std::string words = joined(typed(row.suggestions), " ");
    text += "      " + joined(row.flags, "|") + ") ";
    if (!words.empty()) {
      text += std::string(row.suggestions.is_list ? "_tensorstat_list" : "_tensorstat_words") + " '" + words + "'";
    } else {
      text += row.takes_folder() ? "_tensorstat_files -d" : row.takes_file() ? "_tensorstat_files -f" : "COMPREPLY=()";
    }
    text += "; return ;;\n";
  }
  return text;
}

std::string bash_case(CLI::App& app, const std::string& more_words) {
  std::string positional = "_tensorstat_files -f";
  for (const OptionRow& row : rows_of(app)) {
    if (row.positional.empty() || row.suggestions.words.empty()) continue;
    positional = "_tensorstat_words '" + joined(typed(row.suggestions), " ") + "'";
  }
  return "      case $previous in\n" + bash_values(app) +
         "      esac\n      if [[ $word == -* ]]; then _tensorstat_words '" + joined(flags_of(app), " ") + "'; else " +
         positional + more_words + "; fi ;;\n";
}

std::string zsh_action(const OptionRow& row) {
  const std::string words = joined(typed(row.suggestions), " ");
  if (!words.empty()) return row.suggestions.is_list ? "_values -s , value " + words : "(" + words + ")";
  return row.takes_folder() ? "_files -/" : row.takes_file() ? "_files" : " ";
}

// Arguments for zsh's _arguments, one per line. Characters that are special there or in quotes are removed from
// descriptions.
std::string zsh_arguments(CLI::App& app, const std::string& indent, bool positionals) {
  std::string text;
  for (const OptionRow& row : rows_of(app)) {
    const std::string about = without(brief(row.description), "[]:'`\\");
    for (const std::string& flag : row.flags) {
      text += indent + "'" + flag + "[" + about + "]";
      if (row.takes_value()) text += ":" + without(row.value, ":") + ":" + zsh_action(row);
      text += "' \\\n";
    }
    if (!row.positional.empty() && positionals)
      text += indent + "'*:" + row.positional + ":" + zsh_action(row) + "' \\\n";
  }
  return text;
}

std::string fish_options(CLI::App& app, const std::string& when) {
  std::string text;
  for (const OptionRow& row : rows_of(app)) {
    std::string line = "complete -c tensorstat -n '" + when + "'";
    for (const std::string& flag : row.flags)
      line += flag.starts_with("--") ? " -l " + flag.substr(2) : " -s " + flag.substr(1);
    const std::string words = joined(typed(row.suggestions), row.suggestions.is_list ? "\\n" : " ");
    if (!row.positional.empty()) {
      if (words.empty()) continue;  // fish completes file names by itself
      line += " -f";
    } else if (row.takes_value()) {
      line += row.takes_file() ? " -rF" : " -x";
    }
    if (row.takes_folder()) line += " -a '(__fish_complete_directories)'";
    if (!words.empty() && row.suggestions.is_list && row.positional.empty()) {
      line += " -a '(__fish_append , (printf \"" + words + "\\n\"))'";
    } else if (!words.empty()) {
      line += " -a '" + joined(typed(row.suggestions), " ") + "'";
    }
    text += line + " -d '" + without(brief(row.description), "'\\") + "'\n";
  }
  return text;
}

}  // namespace

std::string bash_completion(CLI::App& app) {
  std::vector<std::string> subcommands;
  for (CLI::App* each : subcommands_of(app)) subcommands.push_back(each->get_name());
  std::string text = R"(# bash completion for tensorstat, made from the command's own options.
_tensorstat_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$word"); }
_tensorstat_files() { compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen "$1" -- "$word"); }
_tensorstat_list() { # of words between commas: the last one is completed
  local before=
  [[ $word != *,* ]] || before=${word%,*},
  compopt -o nospace 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -P "$before" -W "$1" -- "${word##*,}")
}
_tensorstat() {
  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} each subcommand=
  for each in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case $each in )" +
                     joined(subcommands, "|") + R"() subcommand=$each; break ;; esac
  done
  COMPREPLY=()
  case $subcommand in
)";
  for (CLI::App* each : subcommands_of(app)) text += "    " + each->get_name() + ")\n" + bash_case(*each, "");
  // Offers both of compgen's lists: files and subcommands.
  text += "    *)\n" + bash_case(app, "; mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -W '" +
                                          joined(subcommands, " ") + "' -- \"$word\")");
  return text + "  esac\n}\ncomplete -F _tensorstat tensorstat\n";
}

std::string zsh_completion(CLI::App& app) {
  std::string text =
      "#compdef tensorstat\n# zsh completion for tensorstat, made from the command's own options.\n"
      "_tensorstat() {\n  local -a subcommands\n  subcommands=(\n";
  for (CLI::App* each : subcommands_of(app)) {
    text += "    '" + each->get_name() + ":" + without(brief(each->get_description()), ":'\\`") + "'\n";
  }
  text += "  )\n  case ${words[2]} in\n";
  for (CLI::App* each : subcommands_of(app)) {
    text += "    " + each->get_name() + ")\n      shift words; (( CURRENT-- ))\n      _arguments -s \\\n" +
            zsh_arguments(*each, "        ", true) + "        && return ;;\n";
  }
  text += "    *)\n      _arguments -s \\\n" + zsh_arguments(app, "        ", false) +
          "        '*:PATH:_tensorstat_paths' && return ;;\n  esac\n}\n";
  text +=
      "_tensorstat_paths() {\n  (( CURRENT > 2 )) || _describe -t subcommands subcommand subcommands\n  _files\n}\n";
  return text + "_tensorstat \"$@\"\n";
}

std::string fish_completion(CLI::App& app) {
  std::string text = "# fish completion for tensorstat, made from the command's own options.\n";
  for (CLI::App* each : subcommands_of(app)) {
    text += "complete -c tensorstat -n __fish_use_subcommand -a " + each->get_name() + " -d '" +
            without(brief(each->get_description()), "'\\") + "'\n";
  }
  std::string names;
  for (CLI::App* each : subcommands_of(app)) names += " " + each->get_name();
  text += fish_options(app, "not __fish_seen_subcommand_from" + names);
  for (CLI::App* each : subcommands_of(app)) {
    text += fish_options(*each, "__fish_seen_subcommand_from " + each->get_name());
  }
  return text;
}

}  // namespace tensorstat::cli
