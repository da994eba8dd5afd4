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
    if ((needs(category) & (kSum | kSquares | kAbsolute)) != 0) {
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
