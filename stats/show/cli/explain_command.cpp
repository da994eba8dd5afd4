// `tensorstat explain`: describes a statistic of one tensor or of two, the effect of NaN on it, and its cost.
#include <algorithm>
#include <memory>
#include <tensorstat/catalog.hpp>
#include <tensorstat/pair.hpp>

#include "stats/show/cli/exit_status.hpp"
#include "stats/show/cli/options/options.hpp"
#include "stats/show/cli/report/output.hpp"
#include "stats/show/cli/subcommand.hpp"

namespace tensorstat::cli {
namespace {

std::string indented(std::string_view label, std::string_view text) {
  constexpr std::size_t kLabel = 10, kWidth = 100;
  std::string lines = "  " + std::string(label) + std::string(kLabel - label.size(), ' ');
  std::size_t column = lines.size();
  bool is_first = true;
  for (const std::string& word : split(std::string(text), ' ')) {
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

std::vector<PairStatistic> every_pair() {
  std::vector<PairStatistic> all;
  for (int i = 0; i < kPairStatisticCount; ++i) all.push_back(static_cast<PairStatistic>(i));
  return all;
}

// A line for each statistic: its name and the beginning of its definition.
std::string list() {
  std::string text;
  const auto add = [&](std::string_view name, std::string_view definition) {
    constexpr std::size_t kName = 22;
    text.append(name).append(kName - std::min(kName, name.size()), ' ');
    text.append(definition.substr(0, definition.find_first_of(";:"))).append("\n");
  };
  for (const Category category : every_one()) {
    add(is_quantile(category) ? "pN, such as p99.9" : name(category), formula(category));
  }
  text += "\nOf two tensors, a and b, as `diff` compares them:\n\n";
  for (const PairStatistic statistic : every_pair()) add(name(statistic), formula(statistic));
  return text +
         "\n`tensorstat explain NAME` says more of one: NaN and Inf, and the cost. `--all` says it of every one.\n";
}

std::string explanation(Category category) {
  std::string text = std::string(name(category)) + ", in statistic.csv \"" + std::string(column(category)) + "\"\n";
  text += indented("is", formula(category));
  text += indented("NaN, Inf", nan_rule(category));
  text += indented("costs", cost(category));
  if (depends_on_precision(category)) {
    text += indented("precision", "high: the exact value, rounded once; low: every sum held in the tensor's own type");
  }
  return text;
}

std::string explanation(PairStatistic statistic) {
  return std::string(name(statistic)) + ", of two tensors, a and b, as `diff` compares them\n" +
         indented("is", formula(statistic)) + indented("NaN, Inf", special_rule(statistic));
}

// An error if a name is unknown.
Result<std::vector<std::string>> explanations(const std::vector<std::string>& names) {
  std::vector<std::string> texts;
  for (const std::string& each : names) {
    if (const auto statistic = pair_statistic(each)) {
      texts.push_back(explanation(*statistic));
      continue;
    }
    const auto categories = categories_from(each);
    if (!categories) return categories.error();
    for (const Category category : *categories) texts.push_back(explanation(category));
  }
  return texts;
}

std::vector<std::string> every_explanation() {
  std::vector<std::string> texts;
  for (const Category category : every_one()) texts.push_back(explanation(category));
  for (const PairStatistic statistic : every_pair()) texts.push_back(explanation(statistic));
  return texts;
}

struct ExplainArguments {
  std::vector<std::string> names;  // each is a list as in --stats
  bool all = false;
};

}  // namespace

Subcommand explain_command(App command) {
  const auto arguments = std::make_shared<ExplainArguments>();
  App explain =
      command.add_subcommand("explain", "Describe statistics: the definition, the rule for NaN, and the cost");
  Option names = explain.add_option("NAME", arguments->names, "Statistics, e.g. l2norm; without one, the list");
  names.type_name("");
  explain.add_flag("--all", arguments->all, "Describe every statistic").excludes(names);
  std::vector<std::string> known;
  for (const Category category : every_category()) known.emplace_back(name(category));
  for (const Category category : usual_quantiles()) known.emplace_back(name(category));
  for (const PairStatistic statistic : every_pair()) known.emplace_back(name(statistic));
  std::ranges::for_each(known, [](std::string& each) { std::ranges::replace(each, ' ', '-'); });
  names.suggest_list(known);
  return {explain, [arguments](Console& console) {
            if (arguments->names.empty() && !arguments->all) return write_out("", list(), kDone, console);
            const auto texts = arguments->all ? every_explanation() : explanations(arguments->names);
            if (!texts) return console.say(texts.error().message), int{kUsage};
            std::string all;
            for (const std::string& text : *texts) all.append(all.empty() ? "" : "\n").append(text);
            return write_out("", all, kDone, console);
          }};
}

}  // namespace tensorstat::cli
