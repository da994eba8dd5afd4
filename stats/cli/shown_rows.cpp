#include "stats/cli/shown_rows.hpp"

#include <algorithm>

#include "stats/cli/columns.hpp"
#include "stats/cli/findings.hpp"
#include "stats/cli/report.hpp"
#include "stats/cli/row_files.hpp"
#include "stats/dump/dump_place.hpp"
#include "stats/rows/row_carrier.hpp"

namespace tensorstat::cli {
namespace {

// The statistics that any of the files has, each once. A file that cannot be read has none here, and is said later.
Categories categories_of(const std::vector<std::string>& files) {
  Categories all;
  for (const std::string& file : files) {
    if (const auto first = read_first_row(file)) add_once(all, first->categories);
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

}  // namespace

Outcome show_rows(const Arguments& arguments, const Inputs& inputs, const Look& look, Console& console, const Write& write) {
  Outcome outcome;
  const auto fail = [&](const Error& error) {
    console.say(error.message);
    outcome.exit = std::max<int>(outcome.exit, kNotRead);
  };
  Arguments shown = arguments;
  const Categories had = categories_of(inputs.files);
  if (arguments.stats_are_default) shown.request.categories = had;
  Findings findings(arguments.fail_on);
  for (const Category category : findings.needed(false)) {
    if (std::ranges::count(had, category) == 0) {
      console.say("--fail-on needs " + std::string(name(category)) + ", which the rows do not have");
      outcome.exit = kUsage;
    }
  }
  if (outcome.exit != kDone) return outcome;
  const auto has = [&](Category category) { return std::ranges::count(had, category) != 0; };
  const bool has_summary = arguments.format == Format::kTable && std::ranges::all_of(findings.needed(true), has);

  const auto report = make_report(shown, look);
  AlikeRows alike(arguments.columns);
  write(report->begin());
  std::ranges::for_each(inputs.faults, fail);
  for (const std::string& file : inputs.files) {
    const auto read = read_rows_of_file(file, [&](Row&& row) {
      Entry entry;
      entry.path = file;
      entry.tensor = row_label(row.identity);
      entry.row = std::move(row);
      add_place(file, entry.row.identity);
      findings.add(entry);
      entry.row.statistics = shown_of(entry.row.statistics, shown.request.categories);
      outcome.has_results = true;
      write(report->add(entry));
      if (arguments.format == Format::kCsv && alike.are_met(file, entry.row.identity)) {
        console.say("rows of different folders are alike; --columns path,rank,iteration tells them apart");
      }
      return Status();
    });
    if (!read) fail(read.error());
  }
  write(report->end());
  if (findings.any()) {
    outcome.exit = std::max<int>(outcome.exit, kFound);
    console.say(findings.words());
  }
  if (has_summary && findings.tensors() > 1) console.say(findings.summary());
  return outcome;
}

}  // namespace tensorstat::cli
