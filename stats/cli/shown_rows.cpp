#include "stats/cli/shown_rows.hpp"

#include <algorithm>

#include "stats/cli/findings.hpp"
#include "stats/dump/row_files.hpp"
#include "stats/dump/dump_place.hpp"
#include "stats/rows/row_carrier.hpp"

namespace tensorstat::cli {
namespace {

// The statistics that any of the files has, each once. A file that cannot be read has none here, and is said later.
Categories categories_of(const std::vector<std::string>& files) {
  Categories all;
  for (const std::string& file : files) {
    if (const auto columns = read_columns(file)) add_once(all, columns->categories);
  }
  return all;
}

// What the row does not have is a cell without a value.
Statistics shown_of(const Statistics& found, const Categories& categories) {
  Statistics shown(categories, {});
  for (const Category category : categories) {
    const Value* value = found.find(category);
    shown.values.push_back(value ? *value : Value{});
  }
  return shown;
}

// What has to be known of each row, whatever is shown of it.
Categories asked_of(const Arguments& arguments) {
  Categories asked = Findings(arguments.fail_on).needed(false);
  if (arguments.where) add_once(asked, arguments.where->needed());
  if (arguments.sort) {
    if (const auto* category = std::get_if<Category>(&arguments.sort->field)) add_once(asked, {*category});
  }
  return asked;
}

}  // namespace

Outcome show_rows(const Arguments& arguments, const Inputs& inputs, const Look& look, Console& console,
                  const Results::Write& write) {
  Outcome outcome;
  const auto fail = [&](const Error& error) {
    console.say(error.message);
    outcome.exit = std::max<int>(outcome.exit, kNotRead);
  };
  if (arguments.by) {
    console.say("a file of rows has no elements, which --by wants");
    return {kUsage, false};
  }
  const Categories had = categories_of(inputs.files);
  const auto has = [&](Category category) { return std::ranges::count(had, category) != 0; };
  for (const Category category : asked_of(arguments)) {
    if (has(category) || had.empty()) continue;
    console.say("the rows do not have " + std::string(name(category)) + ", which --fail-on, --where or --sort needs");
    return {kUsage, false};
  }
  Arguments shown = arguments;
  if (arguments.stats_are_default && !arguments.head_only) shown.request.categories = had;

  Results results(shown, inputs.files, look, console, write);
  results.begin();
  std::ranges::for_each(inputs.faults, fail);
  for (const std::string& file : inputs.files) {
    const auto place = place_of_rows(file);
    const auto read = read_rows_of_file(file, [&](Row&& row) {
      Entry entry;
      entry.path = file;
      entry.tensor = row_label(row.identity);
      entry.row = std::move(row);
      add_place(file, place, entry.row.identity);
      entry.row.statistics = shown_of(entry.row.statistics, results.request().categories);
      results.add(std::move(entry));
      return Status();
    });
    if (!read) fail(read.error());
  }
  results.end();
  outcome.has_results = results.any();
  if (results.any_found()) outcome.exit = std::max<int>(outcome.exit, kFound);
  results.say_findings(std::ranges::all_of(Findings({}).needed(true), has));
  return outcome;
}

}  // namespace tensorstat::cli
