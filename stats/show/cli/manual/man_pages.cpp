#include "stats/show/cli/manual/man_pages.hpp"

#include <algorithm>
#include <tensorstat/catalog.hpp>
#include <tensorstat/rows.hpp>

#include "stats/show/cli/manual/option_table.hpp"
#include "stats/show/cli/options/help.hpp"

namespace tensorstat::cli {
namespace {

// Escapes roff's special characters, also at the beginning of a line.
std::string roff(std::string_view text) {
  std::string out;
  bool begins = true;
  for (const char c : text) {
    if (begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else if (c == '\'') {
      out += "\\(aq";
    } else if (c == '^') {
      out += "\\(ha";
    } else if (c == '~') {
      out += "\\(ti";
    } else if (c == '`') {
      out += "\\(ga";
    } else {
      out += c;
    }
    begins = c == '\n';
  }
  return out;
}

std::string title(const std::string& name, int section, const std::string& heading) {
  return ".TH " + name + " " + std::to_string(section) + " \"\" \"tensorstat " + version() + "\" \"" + heading + "\"\n";
}

std::string section(std::string_view heading) { return ".SH " + roff(heading) + "\n"; }

std::string capitals(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

std::string bold(std::string_view text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + roff(text) + "\\fR"; }

std::string item(const std::string& term, std::string_view text) { return ".TP\n" + term + "\n" + roff(text) + "\n"; }

std::string options_of(CLI::App& app) {
  std::string text;
  for (const OptionRow& row : rows_of(app)) {
    std::string term = row.positional.empty() ? "" : italic(row.positional);
    for (const std::string& flag : row.flags) term.append(term.empty() ? "" : ", ").append(bold(flag));
    if (row.takes_value() && row.positional.empty()) term += " " + italic(row.value);
    text += item(term, row.description);
  }
  return text;
}

// A list of words may be wider than a line. \: allows a break behind each |.
std::string breakable(std::string words) {
  for (std::size_t position = 0; (position = words.find('|', position)) != words.npos; ++position)
    words.insert(position + 1, "\\:");
  return words;
}

std::string usage_of(CLI::App& app, const std::string& name) {
  std::string text = bold(name) + " [" + italic("OPTION") + "]...", positionals;
  const bool is_command = app.get_parent() == nullptr;  // without a path the command does nothing
  for (const OptionRow& row : rows_of(app)) {
    if (row.positional.empty()) {
      if (row.is_required) text += " " + bold(row.flags.back()) + " " + breakable(italic(row.value));
      continue;
    }
    const bool is_required = row.is_required || is_command;
    positionals += is_required ? " " + italic(row.positional) : " [" + italic(row.positional) + "]";
    if (row.is_list) positionals += "...";
  }
  return text + positionals + "\n";
}

std::string environment() {
  return section("ENVIRONMENT") +
         item(bold("NO_COLOR"), "If it is set and not empty, a table has no colours, unless --color says always.") +
         item(bold("CLICOLOR_FORCE"),
              "If it is set and neither empty nor 0, a table on stdout has colours in a pipe, too.") +
         item(bold("TERM"), "dumb: no colours and no progress.") +
         item(bold("MINDSPORE_DUMP_CONFIG"), "The data_dump.json of tensorstat dump, if --config is not given.") +
         item(bold("TENSORSTAT_ISA"),
              "baseline, avx2 or avx512: the instruction set of the host, for tests. The numbers "
              "are the same bits.") +
         item(bold("TENSORSTAT_CACHE"), "0: compiled kernels are not kept on disk.") +
         item(bold("XDG_CACHE_HOME"), "Compiled kernels are kept in tensorstat below it; ~/.cache if it is not set.");
}

}  // namespace

std::string man_of_command(CLI::App& app) {
  std::string text = title("TENSORSTAT", 1, "User Commands");
  text += section("NAME") + "tensorstat \\- statistics of tensors, computed where they live\n";
  text += section("SYNOPSIS") + ".ad l\n" + usage_of(app, "tensorstat");  // a line of one word cannot be adjusted
  for (CLI::App* each : subcommands_of(app)) text += ".br\n" + usage_of(*each, "tensorstat " + each->get_name());
  text += ".ad b\n";
  text += section("DESCRIPTION");
  text += roff(
      "Reads files of tensors, and shows the statistics of each: in one pass, exact, on an OpenCL device or on "
      "the host to the same bits. Nothing in a file is evaluated or unpickled.\n");
  text += section("OPTIONS") + options_of(app);
  text += section("SUBCOMMANDS");
  for (CLI::App* each : subcommands_of(app)) {
    text += ".SS tensorstat " + roff(each->get_name()) + "\n" + roff(each->get_description()) + ".\n";
    text += "See\n.BR " + roff("tensorstat-" + each->get_name()) + " (1).\n";
  }
  for (const Section& each : sections()) text += section(capitals(each.heading)) + roff(each.text) + "\n";
  text += section("EXAMPLES") + ".nf\n" + roff(kExamples) + ".fi\n";
  text += environment();
  text += section("SEE ALSO");
  for (CLI::App* each : subcommands_of(app)) text += ".BR " + roff("tensorstat-" + each->get_name()) + " (1),\n";
  return text + ".BR statistic.csv (5)\n";
}

std::string man_of_subcommand(CLI::App& subcommand) {
  const std::string name = subcommand.get_name(), description = subcommand.get_description();
  std::string text = title(roff("TENSORSTAT-" + capitals(name)), 1, "User Commands");
  text += section("NAME") + roff("tensorstat-" + name) + " \\- " + roff(brief(description)) + "\n";
  text += section("SYNOPSIS") + ".ad l\n" + usage_of(subcommand, "tensorstat " + name) + ".ad b\n";
  text += section("DESCRIPTION") + roff(description) + ".\n";
  text += section("OPTIONS") + options_of(subcommand);
  if (const std::string footer = subcommand.get_footer(); !footer.empty()) {
    text += section("NOTES") + ".nf\n" + roff(footer) + "\n.fi\n";
  }
  if (name == "dump") {
    text += section("EXIT STATUS") +
            roff(
                "0 done; 2 wrong usage, or a wrong config; 3 some input could not be read (the others are "
                "done and written); 5 something could not be written.\n");
  }
  text += environment();
  return text + section("SEE ALSO") + ".BR tensorstat (1),\n.BR statistic.csv (5)\n";
}

std::string man_of_statistic_csv() {
  std::string text = title("STATISTIC.CSV", 5, "File Formats");
  text += section("NAME") + "statistic.csv \\- rows of statistics of tensors, as MindSpore dumps them\n";
  text += section("DESCRIPTION");
  text += roff(
      "A heading, then a row for each tensor. The first columns identify the tensor: Op Type, Op Name, Task ID, "
      "Stream ID, Timestamp (microseconds since 1970), IO (input or output), Slot, Data Size (bytes), Data Type and "
      "Shape. Then come the requested statistics, in the order of the request. A value that does not exist, such as "
      "the max of an empty tensor, is an empty cell, or null in MindSpore's dialects. Rows are appended while "
      "training runs, whole or not at all.\n");
  text += section("STATISTICS");
  for (const Category category : every_category()) {
    text += item(bold(column(category)), std::string(name(category)) + ": " + std::string(formula(category)) +
                                             ". NaN: " + std::string(nan_rule(category)) + ".");
  }
  const Category any = quantile(50'000);
  text += item(bold("PN"),
               "pN, such as p50 or p99.9: " + std::string(formula(any)) + ". NaN: " + std::string(nan_rule(any)) + ".");
  text += section("DIALECTS");
  std::string names;
  for (const std::string_view each : dialect_names()) names.append(names.empty() ? "" : ", ").append(each);
  text += roff("Known to --dialect of tensorstat dump: " + names +
               ". In tensorstat's own, numbers are the shortest that read back as the same binary64, and no text cell "
               "starts a formula. MindSpore's have six digits, and escape nothing.\n");
  return text + section("SEE ALSO") + ".BR tensorstat (1),\n.BR tensorstat\\-dump (1)\n";
}

}  // namespace tensorstat::cli
