// `tensorstat explain`: describes a statistic, the effect of NaN on it, and its cost.
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

// The texts for these statistics; without names, for all. An error if a name is unknown.
Result<std::string> explanations(const std::vector<std::string>& names) {
  Categories categories;
  if (names.empty()) {
    categories = every_category();
    categories.push_back(quantile(50'000));  // one quantile stands for all
  }
  for (const std::string& each : names) {
    const auto named = categories_from(each);
    if (!named) return named.error();
    categories.insert(categories.end(), named->begin(), named->end());
  }
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

}  // namespace

Subcommand explain_command(CLI::App& command) {
  const auto asked = std::make_shared<std::vector<std::string>>();  // each is a list as in --stats
  CLI::App* explain =
      command.add_subcommand("explain", "Describe statistics: the definition, the rule for NaN, and the cost");
  CLI::Option* names = explain->add_option("NAME", *asked, "Statistics, e.g. l2norm; by default every one");
  names->type_name("");
  std::vector<std::string> known;
  for (const Category category : every_category()) known.emplace_back(name(category));
  for (const Category category : usual_quantiles()) known.emplace_back(name(category));
  std::ranges::for_each(known, [](std::string& each) { std::ranges::replace(each, ' ', '-'); });
  suggest_list(names, known);
  return {explain, [asked](Console& console) {
            const auto text = explanations(*asked);
            if (!text) return console.say(text.error().message), int{kUsage};
            return write_out("", *text, kDone, console);
          }};
}

}  // namespace tensorstat::cli
