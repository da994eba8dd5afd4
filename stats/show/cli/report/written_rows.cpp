#include "stats/show/cli/report/written_rows.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "stats/core/base/printable.hpp"
#include "stats/data/files/tensor_reader.hpp"
#include "stats/data/rows/names/dump_place.hpp"
#include "stats/data/rows/row_carrier.hpp"
#include "stats/data/rows/rows_of_file.hpp"
#include "stats/data/rules/comparison.hpp"
#include "stats/data/rules/specials.hpp"
#include "stats/data/survey/row_files.hpp"
#include "stats/data/survey/wanted_tensors.hpp"
#include "stats/show/cli/report/fault_count.hpp"

namespace tensorstat::cli {
namespace {

// The statistics in any of the files, each once; nullopt if no file tells. What cannot be read is reported later.
std::optional<Categories> categories_of(const std::vector<std::string>& files) {
  std::optional<Categories> all;
  for (const std::string& file : files) {
    const auto columns = read_columns(file);
    if (!columns) continue;
    const bool is_told = !columns->categories.empty() || file.ends_with(".csv");  // a csv's heading tells without rows
    if (!is_told) continue;
    if (!all) all.emplace();
    add_once(*all, columns->categories);
  }
  return all;
}

// A statistic that the row lacks gets an empty cell. absmax is computed from max and min.
Statistics shown_of(const Statistics& statistics, const Categories& categories) {
  Statistics shown(categories, {});
  for (const Category category : categories) {
    const Value* value = statistics.find(category);
    shown.values.push_back(value ? *value : Value{});
    const Value *max = statistics.find(Category::kMax), *min = statistics.find(Category::kMin);
    if (category == Category::kAbsmax && value == nullptr && max != nullptr && min != nullptr) {
      shown.values.back() = greater_size(*max, *min);
    }
  }
  return shown;
}

// The statistics that every row must have, shown or not. The words nan and inf can use several statistics and need none
// in particular.
Categories asked_of(const Arguments& arguments) {
  Categories asked = FaultCount(arguments.fail_on).needed(false, false);
  if (arguments.where) add_once(asked, arguments.where->needed(false));
  if (arguments.sort) {
    if (!is_word(arguments.sort->subject)) add_once(asked, needed_by(arguments.sort->subject));
  }
  return asked;
}

}  // namespace

Outcome show_rows(const Arguments& arguments, const Inputs& inputs, const Look& look, Console& console,
                  const Results::Write& write) {
  Outcome outcome;
  const auto fail = [&](const Error& error) {
    console.complain(error.message);
    outcome.exit = std::max<int>(outcome.exit, kNotRead);
  };
  const std::pair<const char*, bool> readers[] = {{"--by", arguments.by.has_value()},
                                                  {"--dtype", arguments.raw.has_value()},
                                                  {"--precision low", arguments.request.precision == Precision::kLow}};
  for (const auto& [option, reads_elements] : readers) {
    if (!reads_elements) continue;
    console.say(std::string(option) + " needs elements, and a file of rows has none");
    return {kUsage, false};
  }
  const auto known = categories_of(inputs.files);
  const Categories had = known.value_or(Categories());
  const auto has_itself = [&](Category category) { return std::ranges::count(had, category) != 0; };
  const bool have_extremes = has_itself(Category::kMax) && has_itself(Category::kMin);
  const auto has = [&](Category category) {
    return has_itself(category) || (category == Category::kAbsmax && have_extremes);
  };
  const auto tells = [&](Category category) { return counts_specials(category) && can_tell(category, had); };
  for (const Category category : asked_of(arguments)) {
    if (has(category) || !known) continue;
    console.say("the rows do not have " + std::string(name(category)) + ", which --fail-on, --where or --sort needs" +
                (tells(category) ? "; the words nan and inf go by max and min, avg or l2norm" : ""));
    return {kUsage, false};
  }
  Categories words = FaultCount(arguments.fail_on).needed(false);
  if (arguments.where) add_once(words, arguments.where->needed());
  for (const Category category : words) {
    if (has(category) || !known || tells(category)) continue;
    console.say("the rows have neither " + std::string(name(category)) +
                " nor max and min, avg or l2norm: --fail-on or --where needs one of them to find NaN and Inf");
    return {kUsage, false};
  }
  Arguments shown = arguments;
  if (arguments.stats_are_default && !arguments.head_only) shown.request.categories = had;

  std::string lacking;
  for (const Category category : shown.request.categories) {
    if (!has(category) && !had.empty()) lacking.append(lacking.empty() ? "" : ", ").append(name(category));
  }
  if (!lacking.empty() && !arguments.is_quiet)
    console.say("the rows do not have " + lacking + ": nothing is shown there");

  Categories kept;  // tell about NaN and Inf in files without their counts
  std::ranges::copy_if(kTelling, std::back_inserter(kept), has);
  Results results(shown, inputs.files, look, console, write, kept);
  results.begin();
  std::ranges::for_each(inputs.faults, fail);
  const std::vector<std::string> all;
  for (const std::string& file : inputs.files) {
    const auto named = inputs.tensors_of.find(file);
    WantedTensors wanted(named == inputs.tensors_of.end() ? all : named->second);
    const auto place = place_of_rows(file);
    const auto read = read_rows_of_file(file, [&](Row&& row) {
      SurveyedTensor entry;
      entry.path = file;
      entry.tensor = row_label(row.identity);
      if (!wanted.take(entry.tensor)) return Status();
      entry.row = std::move(row);
      add_place(file, place, entry.row.identity);
      entry.row.statistics = shown_of(entry.row.statistics, results.request().categories);
      results.add(std::move(entry));
      return Status();
    });
    if (!read) fail(read.error());
    for (const std::string& name : wanted.missing()) {
      fail({Code::kUnreadable, printable_name(tensor_label(file, name)) + ": the file has no such row"});
    }
  }
  results.end();
  outcome.has_results = results.any();
  if (results.any_found()) outcome.exit = std::max<int>(outcome.exit, kFound);
  const Categories specials = FaultCount({}).needed(true);
  results.say_findings(std::ranges::all_of(specials, [&](Category each) { return has(each) || tells(each); }));
  return outcome;
}

}  // namespace tensorstat::cli
