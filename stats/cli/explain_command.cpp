// `tensorstat explain`: describes a statistic, the effect of NaN on it, and its cost.
#include <algorithm>
#include <memory>
#include <tensorstat/catalog.hpp>

#include "stats/cli/exit_status.hpp"
#include "stats/cli/options/options.hpp"
#include "stats/cli/report/output.hpp"
#include "stats/cli/subcommand.hpp"

namespace tensorstat::cli {
namespace {

std::string indented(std::string_view label, std::string_view text) {
  constexpr std::size_t kLabel = 10, kWidth = 100;
  std::string lines = "  " + std::string(label) + std::string(kLabel - label.size(), ' ');
  std::size_t column = lines.size();
  bool is_first = true;
  for (const std::string& word : CLI::detail::split(std::string(text), ' ')) {
    if (!is_first && column + 1 + word.size() > kWidth) {
      lines += '\n' + std::string(2 + kLabel, ' ');
      column = 2 + kLabel;
    } else if (!is_first) {
      lines += ' ';
      ++column;
    }
    lines += word;
    column += word.size();
    is_first = false;
  }
  return lines + '\n';
}

Categories every_one() {
  Categories categories = every_category();
  categories.push_back(quantile(50'000));  // one quantile stands for all
  return categories;
}

// A line for each statistic: its name and the beginning of its definition.
std::string list() {
  std::string text;
  for (const Category category : every_one()) {
    const std::string name(is_quantile(category) ? "pN, such as p99.9" : tensorstat::name(category));
    const std::string_view definition = formula(category);
    constexpr std::size_t kName = 22;
    text += name + std::string(kName - std::min(kName, name.size()), ' ');
    text.append(definition.substr(0, definition.find_first_of(";:"))).append("\n");
  }
  return text +
         "\n`tensorstat explain NAME` says more of one: NaN and Inf, and the cost. `--all` says it of every one.\n";
}

// An error if a name is unknown.
Result<Categories> named(const std::vector<std::string>& names) {
  Categories categories;
  for (const std::string& each : names) {
    const auto found = categories_from(each);
    if (!found) return found.error();
    categories.insert(categories.end(), found->begin(), found->end());
  }
  return categories;
}

std::string explanations(const Categories& categories) {
  std::string text;
  for (const Category category : categories) {
    if (!text.empty()) text += '\n';
    text.append(name(category)).append(", in statistic.csv \"").append(column(category)).append("\"\n");
    text += indented("is", formula(category));
    text += indented("NaN, Inf", nan_rule(category));
    text += indented("costs", cost(category));
    if (depends_on_precision(category)) {
      text +=
          indented("precision", "high: the exact value, rounded once; low: every sum held in the tensor's own type");
    }
  }
  return text;
}

struct ExplainArguments {
  std::vector<std::string> names;  // each is a list as in --stats
  bool all = false;
};

}  // namespace

Subcommand explain_command(CLI::App& command) {
  const auto arguments = std::make_shared<ExplainArguments>();
  CLI::App* explain =
      command.add_subcommand("explain", "Describe statistics: the definition, the rule for NaN, and the cost");
  CLI::Option* names = explain->add_option("NAME", arguments->names, "Statistics, e.g. l2norm; without one, the list");
  names->type_name("");
  explain->add_flag("--all", arguments->all, "Describe every statistic")->excludes(names);
  std::vector<std::string> known;
  for (const Category category : every_category()) known.emplace_back(name(category));
  for (const Category category : usual_quantiles()) known.emplace_back(name(category));
  std::ranges::for_each(known, [](std::string& each) { std::ranges::replace(each, ' ', '-'); });
  suggest_list(names, known);
  return {explain, [arguments](Console& console) {
            if (arguments->names.empty() && !arguments->all) return write_out("", list(), kDone, console);
            const auto categories = arguments->all ? every_one() : named(arguments->names);
            if (!categories) return console.say(categories.error().message), int{kUsage};
            return write_out("", explanations(*categories), kDone, console);
          }};
}

}  // namespace tensorstat::cli
