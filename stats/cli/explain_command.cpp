// `tensorstat explain`: describes a statistic, the effect of NaN on it, and its cost.
#include "stats/cli/explain_command.hpp"

#include <algorithm>
#include <memory>
#include <tensorstat/partial.hpp>

#include "stats/cli/exit_status.hpp"
#include "stats/cli/options/options.hpp"
#include "stats/cli/report/output.hpp"
#include "stats/cli/subcommand.hpp"

namespace tensorstat::cli {
namespace {

struct Cost {
  Needs need;
  std::string_view text;
};
constexpr Cost kCosts[] = {
    {kExtrema, "the greatest and the least element"},
    {kSigns, "two more counts"},
    {kSum, "an exact sum of the elements"},
    {kSquares, "an exact sum of the squares"},
    {kAbsolute, "an exact sum of the absolute values"},
    {kOfElements & ~kFinite, "another look at each element while it is in the nearest cache"},
    {kFinite, "the greatest and the least finite element"},
    {kIndices, "a comparison after each block, and a search in the blocks with a new extreme"},
    {kCrc32, "CRC-32 of the bytes while they are in the cache, 16 at a time if the processor multiplies without carry"},
    {kXor64, "the exclusive or of the bytes, 8 at a time"},
    {kExponents, "a look at each element's exponent, 16 exponents at a time"},
    {kQuantiles,
     "a count of the elements in each of up to 2^16 bins, of float64 2^19, on the host: 1 MiB of memory a thread, of "
     "float64 8; a partial keeps up to 16 bytes an element"},
    {kMd5Digest, "MD5, which is serial: host work, some 0.8 GB/s for one large tensor; small ones go side by side"},
    {kSha1Digest, "SHA-1: host work, slices of 20,480 elements side by side"},
};
// Fails to compile if an accumulator has no text in kCosts.
constexpr bool every_need_has_words() {
  Needs known = 0;
  for (const Cost& cost : kCosts) known |= cost.need;
  return (kQuantileNeeds[0] & ~known) == 0 &&
         std::ranges::all_of(kCategoryNeeds, [known](Needs needs) { return (needs & ~known) == 0; });
}
static_assert(every_need_has_words());

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

}  // namespace

std::string cost(Category category) {
  const Needs wanted = needs(category);
  if (wanted == kNothing) return "nothing: every pass counts elements, NaN and Inf";
  std::string kept, free;
  for (const Cost& each : kCosts) {
    if ((wanted & each.need) != 0) kept.append(kept.empty() ? "" : ", and ").append(each.text);
  }
  if (is_digest(category)) return kept;
  for (const Category other : every_category()) {
    if (other == category || needs(other) == kNothing || (needs(other) & ~wanted) != 0) continue;
    free.append(free.empty() ? "" : ", ").append(name(other));
  }
  return "in the one pass: " + kept + (free.empty() ? "" : "; then free: " + free);
}

namespace {

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
    if ((needs(category) & (kSum | kSquares | kAbsolute)) != 0) {
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
