// `tensorstat merge` joins the states of a plan's parts and shows the rows of the whole tree.

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "stats/answer/parts/merged_states.hpp"
#include "stats/answer/parts/plan.hpp"
#include "stats/core/base/printable.hpp"
#include "stats/data/files/io/folders.hpp"
#include "stats/data/files/io/whole_file.hpp"
#include "stats/show/cli/exit_status.hpp"
#include "stats/show/cli/inputs.hpp"
#include "stats/show/cli/options/options.hpp"
#include "stats/show/cli/options/plain_options.hpp"
#include "stats/show/cli/report/output.hpp"
#include "stats/show/cli/report/results.hpp"
#include "stats/show/cli/subcommand.hpp"

namespace tensorstat::cli {
namespace {

constexpr std::string_view kStateEnding = ".tsp";

struct MergeArguments {
  PlainOptions options;
  Arguments plain;
  std::vector<std::string> paths;
  std::string state;  // -o FILE.tsp
};

// The files; of a folder all that end in .tsp.
std::vector<std::string> state_files(const std::vector<std::string>& paths, std::vector<Error>& faults) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(path, ignored)) {
      files.push_back(path);
      continue;
    }
    const std::size_t before = files.size(), faults_before = faults.size();
    for (FolderEntry& entry : entries_of(path, faults)) {
      const bool is_state =
          entry.path.ends_with(kStateEnding) && !std::filesystem::path(entry.path).filename().string().starts_with('.');
      if (is_state && !entry.is_folder) files.push_back(std::move(entry.path));
    }
    if (files.size() == before && faults.size() == faults_before) {
      faults.push_back({Code::kUnreadable, printable(path) + ": holds no state, a file that ends in .tsp"});
    }
  }
  return files;
}

// Reads the states, and reports missing parts. Returns the exit status so far.
int read_states(const MergeArguments& arguments, Console& console, MergedStates& merged) {
  std::vector<Error> faults;
  const std::vector<std::string> files = state_files(arguments.paths, faults);
  for (std::size_t i = 0; i < files.size(); ++i) {
    const auto text = read_whole_file(files[i], kMostStateBytes);
    Status added = text ? merged.add(files[i], *text) : Status(text.error());
    if (!added) faults.push_back(std::move(added).error());
    if (!arguments.plain.is_quiet) console.progress(i + 1, files.size(), 0);
  }
  console.hide_progress();
  for (const Error& fault : faults) console.complain(fault.message);
  if (Status joined = merged.join(); !joined) return console.say(joined.error().message), kUsage;
  if (merged.is_empty()) return kNotRead;
  const auto missing = merged.missing();
  if (!missing.empty()) console.say(missing_text(missing, merged.head().parts));
  return faults.empty() && missing.empty() ? kDone : kNotRead;
}

// Without --stats, what the user asked for when he planned; of the default, what the states have.
void take_request(const PlanRequest& plan, Arguments& arguments) {
  if (arguments.stats_are_default) {
    Categories& shown = arguments.request.categories;
    if (!plan.is_default) shown = plan.asked;
    std::erase_if(shown, [&](Category category) { return std::ranges::count(plan.measured, category) == 0; });
    arguments.stats_are_default = plan.is_default;
  }
  arguments.request.precision = plan.precision;
  arguments.request.cast_scale = plan.cast_scale;
  arguments.by = plan.by;
}

Status check_is_there(const PlanRequest& plan, const Categories& wanted) {
  for (const Category category : wanted) {
    if (std::ranges::count(plan.measured, category) != 0) continue;
    return Error{Code::kInvalid, "the states do not have " + std::string(name(category)) + ": plan with --stats '...," +
                                     std::string(name(category)) + "' and fold again"};
  }
  return {};
}

int show_merged(Arguments& arguments, const MergedStates& merged, Console& console, int exit) {
  const PlanRequest& plan = merged.head().request;
  take_request(plan, arguments);
  add_telling_columns(arguments);
  const Look look = look_of(arguments.color, arguments.output);
  Output output(arguments.output);
  Status written;
  const auto write = [&](const std::string& text) {
    if (written && !text.empty()) written = output.write(text);
  };
  Results results(arguments, merged.paths(), look, console, write);
  if (Status there = check_is_there(plan, results.request().categories); !there) {
    return console.say(there.error().message), kUsage;
  }
  Unmeasured unmeasured(console);
  // The states have more statistics than are shown. Where the dtype has none of the shown ones, the command without
  // parts reports an error; so does this.
  std::optional<Meter> meter;
  const auto refusal = [&](const SurveyedTensor& entry) -> Status {
    const auto dtype = dtype_from(entry.row.data_type);
    const Categories& shown = results.request().categories;
    if (!dtype || std::ranges::any_of(shown, [&](Category each) { return has(*dtype, each); })) return {};
    if (!meter) meter.emplace();
    Request request = results.request();
    request.on = On::kHost;
    const Tensor empty{.dtype = *dtype};
    const auto measured = meter->measure({&empty, 1}, request);
    return measured ? Status() : measured.error();
  };
  results.begin();
  merged.each({.row =
                   [&](SurveyedTensor&& entry) {
                     if (Status refused = refusal(entry); !refused) {
                       exit = std::max<int>(exit, kNotRead);
                       return unmeasured.say(entry.label(), refused.error().message);
                     }
                     const Statistics all = std::exchange(entry.row.statistics, {});
                     std::vector<Decision> placement;
                     entry.row.statistics.categories = results.request().categories;
                     for (const Category category : results.request().categories) {
                       const auto index = std::ranges::find(all.categories, category) - all.categories.begin();
                       entry.row.statistics.values.push_back(all.values[index]);
                       placement.push_back(entry.placement[index]);
                     }
                     entry.placement = placement;
                     if (written) results.add(std::move(entry));
                   },
               .fault =
                   [&](const StateRecord& record) {
                     exit = std::max<int>(exit, record.is_for_device ? kNoDevice : kNotRead);
                     record.label.empty() ? console.complain(record.fault) : unmeasured.say(record.label, record.fault);
                   },
               .broken =
                   [&](const std::string& text) {
                     console.complain(text);
                     exit = std::max<int>(exit, kNotRead);
                   }});
  unmeasured.end();
  results.end();
  if (results.any_found()) exit = std::max<int>(exit, kFound);
  results.say_findings();
  if (written) written = output.flush();
  // Do not overwrite an earlier file by one without rows.
  if (written && (exit == kDone || results.any())) written = output.close();
  if (written) return exit;
  return console.say(written.error().message), kNotWritten;
}

int run_merge(MergeArguments& arguments, Console& console) {
  MergedStates merged;
  const int exit = read_states(arguments, console, merged);
  if (exit == kUsage || merged.is_empty()) return exit;
  std::vector<Error> ignored;  // reported when the states were read
  const std::string& output = arguments.state.empty() ? arguments.plain.output : arguments.state;
  if (Status allowed = check_is_no_input(output, state_files(arguments.paths, ignored)); !allowed) {
    return console.say(allowed.error().message), kUsage;
  }
  if (arguments.state.empty()) return show_merged(arguments.plain, merged, console, exit);
  const auto state = merged.state();
  if (!state) return console.say(state.error().message), kNotRead;
  return write_out(arguments.state, *state, exit, console);
}

}  // namespace

Subcommand merge_command(App command) {
  const auto arguments = std::make_shared<MergeArguments>();
  App merge = command.add_subcommand(
      "merge", "Join the states of a plan's parts: the rows of the whole tree, as one call of the command gives them");
  merge.add_option("STATE", arguments->paths, "States, and folders: every .tsp in them").type_name("").required();
  arguments->options.declare(merge, PlainOptions::kStats | PlainOptions::kShows);
  merge.footer(
      "The statistics are those of the plan, and others that its accumulators give, such as absmax with max.\n"
      "-o FILE.tsp writes a state of all parts, which merge reads again. So a large tree can be merged in steps.\n\n"
      "Examples:\n"
      "  tensorstat merge states --fail-on 'nan,inf,absmax>65504'\n"
      "  tensorstat merge states -o rows.csv --columns path,rank\n"
      "  tensorstat merge states/0*.tsp -o all-0.tsp; tensorstat merge all-*.tsp --sort absmax --top 20\n\n"
      "Exit status: 0 done; 1 done, and a tensor meets a condition of --fail-on; 2 wrong usage; 3 a part is missing or "
      "damaged, or some input could not be read (the others are shown); 5 the results could not be written.");
  merge.parse_complete_callback([arguments] {
    // A state is not a format of rows.
    if (arguments->options.output().ends_with(kStateEnding)) std::swap(arguments->state, arguments->options.output());
    for (const char* option : {"--format", "--stats", "--where", "--fail-on", "--sort", "--top", "--columns"}) {
      if (arguments->state.empty() || !arguments->options.is_given(option)) continue;
      refuse(option, "a state keeps everything; give " + std::string(option) + " where the rows are shown");
    }
    arguments->plain = arguments->options.take();
  });
  return {merge, [arguments](Console& console) { return run_merge(*arguments, console); }};
}

}  // namespace tensorstat::cli
