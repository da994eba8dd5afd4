#include "stats/show/cli/options/help.hpp"

#include <algorithm>
#include <tensorstat/catalog.hpp>

#include "stats/data/rules/subject.hpp"

namespace tensorstat::cli {
namespace {

std::string names(const Categories& categories) {
  std::string text;
  for (const Category category : categories) text.append(text.empty() ? "" : ", ").append(name(category));
  return text;
}

std::string statistics() {
  const Categories all = all_categories();
  Categories others = every_category();
  std::erase_if(others, [&](Category category) { return std::ranges::count(all, category) != 0; });
  return "`all` is MindSpore's twelve: " + names(all) + ". Others: " + names(others) +
         ". And pN, the quantiles: " + names(usual_quantiles()) +
         " or any other N from 0 to 100. nan-count and nan_count "
         "mean the same as \"nan count\"; mean is avg, norm and l2 are l2norm, amax is absmax. "
         "`tensorstat explain NAME` says what one is.";
}

// Wraps the text at the width of a terminal.
std::string wrapped(const std::string& text) {
  constexpr std::size_t kWidth = 100;
  std::string lines;
  std::size_t column = 0;
  for (const std::string& word : CLI::detail::split(text, ' ')) {
    const bool fits = column + word.size() < kWidth;
    if (column != 0) lines += fits ? ' ' : '\n';
    column = fits ? column + 1 + word.size() : word.size();
    lines += word;
  }
  return lines;
}

// Whether an example of the help uses the option.
bool is_in_examples(const CLI::Option& option) {
  return std::ranges::any_of(option.get_lnames(), [](const std::string& name) {
    return kExamples.find(" --" + name + " ") != kExamples.npos ||
           kExamples.find(" --" + name + "\n") != kExamples.npos;
  });
}

// Two columns, with the lines of a text below each other.
std::string line(std::string left, std::string_view text) {
  constexpr std::size_t kColumn = 24;
  left.insert(0, "  ");
  if (text.empty()) return left + "\n";
  if (left.size() >= kColumn) left += '\n';
  left.append(kColumn - (left.back() == '\n' ? 0 : left.size()), ' ');
  for (const char c : text) left += c == '\n' ? "\n" + std::string(kColumn, ' ') : std::string(1, c);
  return left + "\n";
}

}  // namespace

std::vector<Section> sections() {
  return {
      {"Statistics", statistics()},
      {"Rows",
       "A .csv is a file of rows: a statistic.csv of this command, MindSpore or msprobe, or CANN's csv of an "
       "operator's run. It is shown with the statistics that it has, and nothing is measured. If no column counts "
       "NaN and Inf, they are found by max, min, avg and l2norm."},
      {"Paths",
       "In a glob ** stands for any number of folders: 'run/**/grad.*.npy'. Write ./dump for a file or folder with "
       "the name of a subcommand, such as dump. FILE::TENSOR, as a table shows it, is one tensor of a file; TENSOR may "
       "hold "
       "* and ?."},
      {"Rules",
       "--where takes a rule, and --fail-on takes rules between commas. A rule is nan, inf, or a comparison of a "
       "statistic "
       "or a fact; and, or, not and parentheses join them: 'nan count > 0 and dtype == float16', \"not (inf or absmax "
       "> "
       "100) and tensor ~ '*.weight'\". Numbers are compared by > >= < <= == and !=, exactly; a number with a fraction "
       "or "
       "above 64 bits is the nearest binary64. NaN is neither above nor below a number: name nan, too. Texts are "
       "compared "
       "by == and !=, and by ~ with a glob. The facts, which --sort takes, too, are " +
           fact_names() +
           ". The statistics of a rule are measured even if --stats does not show them. --fail-on and the last line "
           "count only the tensors that --where selects; --top limits only what is shown."},
      {"Exit status",
       "0 done; 1 done, and a tensor meets a condition of --fail-on; 2 wrong usage; 3 some input could not be read "
       "(the others are done and written); 4 no device can compute what --on device asks for, or --device names "
       "none; 5 the results could not be written. An error wins over a finding, as with grep."}};
}

std::string Help::options(const CLI::App* app, std::string_view heading,
                          const std::function<bool(const CLI::Option*)>& is_shown) const {
  std::string lines;
  for (const CLI::Option* option : app->get_options(is_shown)) {
    lines +=
        line(make_option_name(option, option->get_positional()) + make_option_opts(option), option->get_description());
  }
  return lines.empty() ? lines : "\n" + std::string(heading) + ":\n" + lines;
}

std::string Help::usage(const CLI::App* app, const std::string& name) const {
  std::string text = "Usage: " + name + " [OPTIONS]";
  for (const CLI::Option* option : app->get_options()) {
    if (option->get_positional()) text += " " + make_option_usage(option);
  }
  const bool must_choose = app->get_require_subcommand_min() != 0;
  if (!app->get_subcommands({}).empty()) text += must_choose ? " SUBCOMMAND" : " [SUBCOMMAND]";
  return text + "\n";
}

// CLI::Formatter's own texts differ between its versions.
std::string Help::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const {
  const bool is_whole = app->get_parent() == nullptr;  // of the command, not of a subcommand
  const bool all = !is_whole || mode == CLI::AppFormatMode::All;
  std::string help = app->get_description() + "\n";
  if (is_whole) help += "\nExamples:\n" + std::string(kExamples) + "\n";
  help += usage(app, name) + options(app, "Positionals", [](const CLI::Option* option) {
            return option->get_positional() && !option->get_group().empty();
          });
  for (const std::string& group : app->get_groups()) {
    if (group.empty() || (!all && group == kMoreOptions)) continue;
    help += options(app, group == "OPTIONS" ? "Options" : group, [&](const CLI::Option* option) {
      const bool is_lifted = !all && option->get_group() == kMoreOptions && is_in_examples(*option);
      return (option->get_group() == group || is_lifted) && option->nonpositional();
    });
  }
  std::string subcommands;
  for (const CLI::App* each : app->get_subcommands({})) subcommands += line(each->get_name(), each->get_description());
  if (!subcommands.empty()) help += "\nSubcommands:\n" + subcommands;
  if (!is_whole) return app->get_footer().empty() ? help : help + "\n" + app->get_footer() + "\n";
  if (!all) return help + "\nEvery option, the statistics and the exit statuses: tensorstat --help-all\n";
  for (const Section& section : sections()) help += "\n" + section.heading + ":\n" + wrapped(section.text) + "\n";
  return help;
}

}  // namespace tensorstat::cli
