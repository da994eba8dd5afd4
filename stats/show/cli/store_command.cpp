// `tensorstat store`: rows of many dumps in one SQLite file.

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "stats/answer/store/store.hpp"
#include "stats/core/base/printable.hpp"
#include "stats/data/rows/rows_of_file.hpp"
#include "stats/data/survey/changing_files.hpp"
#include "stats/data/survey/row_files.hpp"
#include "stats/show/cli/exit_status.hpp"
#include "stats/show/cli/inputs.hpp"
#include "stats/show/cli/options/options.hpp"
#include "stats/show/cli/report/output.hpp"
#include "stats/show/cli/report/written_rows.hpp"
#include "stats/show/cli/subcommand.hpp"

namespace tensorstat::cli {
namespace {

using Lines = std::vector<std::vector<std::string>>;

enum class Action { kAdd, kRows, kRuns, kAsk };
const Choices<Action> kActions = {
    {"add", Action::kAdd}, {"rows", Action::kRows}, {"runs", Action::kRuns}, {"ask", Action::kAsk}};

struct StoreArguments {
  Action action = Action::kAdd;
  std::string store, run, output, where;
  std::vector<std::string> names;  // dumps to add, or a question
  bool is_following = false, is_list = false;
  Format format = Format::kCsv;
};

#ifdef TENSORSTAT_STORE

constexpr std::chrono::milliseconds kShortestWait{200}, kLongestWait{2000};

int complain(const Error& error, Console& console) {
  console.say(error.message);
  return error.code == Code::kUnwritable ? kNotWritten : kNotRead;
}

// Columns as wide as their widest cell, two blanks between them.
std::string table_of(const Lines& lines) {
  std::vector<std::size_t> widths;
  for (const auto& line : lines) {
    widths.resize(std::max(widths.size(), line.size()));
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], printable(line[i]).size());
  }
  std::string text;
  for (const auto& line : lines) {
    for (std::size_t i = 0; i < line.size(); ++i) {
      std::string cell = printable(line[i]);
      if (i + 1 < line.size()) cell.resize(widths[i] + 2, ' ');
      text += cell;
    }
    text += '\n';
  }
  return text;
}

// A run and the paths that belong to it: all of them if --run names it, else a run for each path.
struct AddedRun {
  std::string name;
  std::vector<std::string> paths;
  std::optional<ChangingFiles> changing = {};  // of a follower
};

std::vector<AddedRun> runs_to_add(const StoreArguments& arguments) {
  if (!arguments.run.empty()) return {{arguments.run, arguments.names}};
  std::vector<AddedRun> runs;
  for (const std::string& path : arguments.names) {
    const std::string name = run_of_path(path);
    const auto same = std::ranges::find(runs, name, &AddedRun::name);
    if (same != runs.end()) {
      same->paths.push_back(path);
    } else {
      runs.push_back({name, {path}});
    }
  }
  return runs;
}

// Adds new rows, again and again until the process is ended. It may be ended at any time.
int run_add(const StoreArguments& arguments, Console& console) {
  std::vector<AddedRun> runs = runs_to_add(arguments);
  for (AddedRun& run : runs) {
    if (!is_name_of_run(run.name)) {
      console.say("--run: a run's name is not empty, '.' or '..', and holds no '/'");
      return kUsage;
    }
    if (arguments.is_following) run.changing.emplace(run.paths);
  }
  auto store = Store::open(arguments.store, Access::kWrite);
  if (!store) return complain(store.error(), console);
  auto wait = kShortestWait;
  std::set<std::string, std::less<>> messages;  // a follower says everything once
  while (true) {
    std::uint64_t rows = 0, faults = 0;
    const auto say = [&](std::string_view words) {
      if (!arguments.is_following) return console.complain(words);
      if (messages.emplace(words).second) console.say(words);
    };
    for (AddedRun& run : runs) {
      std::vector<Error> unread;
      const auto files = run.changing ? run.changing->look(unread) : find_row_files(run.paths, unread);
      for (const Error& fault : unread) say(fault.message);
      if (run.changing && run.changing->is_waiting()) say("waiting for a dump of the run " + printable(run.name));
      const auto added = store->add(files, run.name, say);
      if (!added) return complain(added.error(), console);
      rows += added->rows;
      faults += added->faults + unread.size();
      if (added->rows != 0 || !arguments.is_following) {
        console.say(counted_noun(added->rows, "row") + " of " + counted_noun(added->files, "file") +
                    " added to the run " + printable(run.name));
      }
    }
    if (!arguments.is_following) return faults == 0 ? kDone : kNotRead;
    wait = rows != 0 ? kShortestWait : std::min(wait * 2, kLongestWait);
    std::this_thread::sleep_for(wait);
  }
}

// Whether only their paths tell the rows of these files apart. A run may have two dumps.
bool are_of_several_runs(const std::vector<std::string>& files, Store& store, const std::string& run) {
  const auto runs = store.runs();
  if (run.empty() && runs && runs->size() > 1) return true;
  OneRun one;
  return std::ranges::any_of(files, [&](const std::string& file) { return !one.add(file); });
}

int run_rows(const StoreArguments& arguments, Console& console) {
  Arguments shown;
  shown.paths = {arguments.store + (arguments.run.empty() ? "" : "//" + arguments.run)};
  if (!arguments.where.empty()) {
    auto where = Rule::parse(arguments.where);
    if (!where) return console.say("--where: " + where.error().message), kUsage;
    shown.where = *std::move(where);
  }
  shown.format = arguments.format;
  shown.stats_are_default = true;
  shown.is_quiet = true;
  auto store = Store::open(arguments.store, Access::kRead);
  if (!store) return complain(store.error(), console);
  const Inputs inputs = find_inputs(shown.paths, shown.order);
  if (Status allowed = check_is_no_input(arguments.output, {&arguments.store, 1}); !allowed) {
    return console.say(allowed.error().message), kUsage;
  }
  // The further columns of the files; of several files also those that tell them apart.
  for (const std::string& file : inputs.files) {
    if (const auto columns = read_columns(file)) add_once(shown.columns, columns->columns);
  }
  if (inputs.files.size() > 1) add_once(shown.columns, {"rank", "iteration"});
  if (are_of_several_runs(inputs.files, *store, arguments.run)) add_once(shown.columns, {"path"});
  Output output(arguments.output);
  Status written;
  const Outcome outcome = show_rows(shown, inputs, {}, console, [&](const std::string& text) {
    if (written && !text.empty()) written = output.write(text);
  });
  if (written) written = output.flush();
  if (written && (outcome.exit == kDone || outcome.has_results)) written = output.close();
  return written ? outcome.exit : complain(written.error(), console);
}

int run_runs(const StoreArguments& arguments, Console& console) {
  auto store = Store::open(arguments.store, Access::kRead);
  if (!store) return complain(store.error(), console);
  const auto runs = store->runs();
  if (!runs) return complain(runs.error(), console);
  Lines lines = {{"run", "files", "rows", "ranks", "iterations"}};
  for (const StoredRun& run : *runs) {
    lines.push_back({run.name, std::to_string(run.files), std::to_string(run.rows), std::to_string(run.ranks),
                     std::to_string(run.first_iteration) + ".." + std::to_string(run.last_iteration)});
  }
  return write_out("", table_of(lines), kDone, console);
}

int run_ask(const StoreArguments& arguments, Console& console) {
  const auto known = store_questions();
  if (arguments.is_list) {
    std::string text;
    for (const StoreQuestion& each : known) {
      text.append(each.name).append(": ").append(each.says).append("\n  ").append(each.sql).append("\n");
    }
    return write_out("", text, kDone, console);
  }
  const std::string question = arguments.names.size() == 1 ? arguments.names.front() : "";
  const auto asked = std::ranges::find(known, question, &StoreQuestion::name);
  if (arguments.store.empty() || asked == known.end()) {
    console.say("ask wants a store and the name of a question; `tensorstat store ask --list` has the names");
    return kUsage;
  }
  auto store = Store::open(arguments.store, Access::kRead);
  if (!store) return complain(store.error(), console);
  Lines lines;
  Status answered = store->ask(asked->sql, [&](const std::vector<std::string>& line) { lines.push_back(line); });
  if (!answered) return complain(answered.error(), console);
  return write_out("", table_of(lines), kDone, console);
}

int run_store(const StoreArguments& arguments, Console& console) {
  if (arguments.action == Action::kAsk) return run_ask(arguments, console);
  if (arguments.store.empty()) return console.say("STORE is required, such as runs.db"), kUsage;
  const bool is_add = arguments.action == Action::kAdd;
  if (is_add == arguments.names.empty()) {
    console.say(is_add ? "add wants a dump: a file of rows or a folder" : "only add takes dumps, and ask a question");
    return kUsage;
  }
  if (is_add) return run_add(arguments, console);
  return arguments.action == Action::kRows ? run_rows(arguments, console) : run_runs(arguments, console);
}

#else

int run_store(const StoreArguments&, Console& console) {
  console.say("this tensorstat was built without SQLite and has no stores; build it where libsqlite3-dev is installed");
  return kUsage;
}

#endif

// An option of another action would have no effect: `ask --run monday` would answer for every run.
void refuse_unused_options(const App& store, Action action) {
  const std::pair<const char*, std::vector<Action>> users[] = {{"--run", {Action::kAdd, Action::kRows}},
                                                               {"--follow", {Action::kAdd}},
                                                               {"--where", {Action::kRows}},
                                                               {"--format", {Action::kRows}},
                                                               {"--output", {Action::kRows}},
                                                               {"--list", {Action::kAsk}}};
  for (const auto& [option, actions] : users) {
    if (!store.is_given(option) || std::ranges::count(actions, action) != 0) continue;
    refuse(option, "does nothing with `store " +
                       std::ranges::find(kActions, action, &std::pair<std::string, Action>::second)->first + "`");
  }
}

}  // namespace

Subcommand store_command(App command) {
  const auto arguments = std::make_shared<StoreArguments>();
  App store = command.add_subcommand("store", "Collect the rows of many dumps in one SQLite file, and ask it");
  add_choice(
      store, "ACTION", arguments->action, kActions,
      "add: add the rows of dumps that the store lacks; rows: print rows; runs: list the runs; ask: ask a question")
      .type_name("")
      .required();
  store.add_option("STORE", arguments->store, "The store, such as runs.db; add makes it").type_name("");
  store.add_option("NAME", arguments->names, "add: files of rows, and folders; ask: a question's name").type_name("");
  store
      .add_option("--run", arguments->run,
                  "add: the run of all DUMPs, by default one for each, named as its folder; rows: only this run")
      .type_name("RUN");
  store.add_flag("--follow", arguments->is_following, "add: go on adding what is written, until this is ended");
  store.add_option("--where", arguments->where, "rows: only those that meet this rule, as `tensorstat --where` has it")
      .type_name("RULE");
  add_choice(store, "--format", arguments->format, Choices<Format>{{"csv", Format::kCsv}, {"ndjson", Format::kNdjson}},
             "rows: csv or ndjson")
      .type_name("FORMAT");
  store.add_option("-o,--output", arguments->output, "rows: write to this file, whole or not at all")
      .check(names_output())
      .type_name("FILE");
  store.add_flag("--list", arguments->is_list, "ask: list the questions and their SQL");
  store.footer(
      "Examples:\n"
      "  tensorstat store add runs.db dump --run monday        again and again: only what is new is added\n"
      "  tensorstat store add runs.db dump --follow            while the training writes\n"
      "  tensorstat origin runs.db --run monday                a store goes where a dump's folder goes\n"
      "  tensorstat store ask runs.db faults\n"
      "  sqlite3 runs.db 'SELECT op_name, max(l2norm) FROM tensorstat GROUP BY op_name'\n\n"
      "Exit status: 0 done; 2 wrong usage; 3 some input could not be read, the rest is added; 5 the store or the "
      "output could not be written.");
  store.parse_complete_callback([arguments, store] { refuse_unused_options(store, arguments->action); });
  return {store, [arguments](Console& console) { return run_store(*arguments, console); }};
}

}  // namespace tensorstat::cli
