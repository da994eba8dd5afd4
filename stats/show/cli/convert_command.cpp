// `tensorstat convert`: converts rows of statistics to another dialect.

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <tensorstat/rows.hpp>
#include <utility>
#include <variant>

#include "stats/answer/compare/recorded.hpp"
#include "stats/core/base/printable.hpp"
#include "stats/data/files/io/folders.hpp"
#include "stats/data/rows/rows_of_file.hpp"
#include "stats/data/survey/row_files.hpp"
#include "stats/show/cli/exit_status.hpp"
#include "stats/show/cli/options/options.hpp"
#include "stats/show/cli/row_target.hpp"
#include "stats/show/cli/staged_folder.hpp"
#include "stats/show/cli/subcommand.hpp"
#include "stats/show/exports/tfevents.hpp"
#ifdef TENSORSTAT_STORE
#include "stats/answer/store/trend_db.hpp"
#endif

namespace tensorstat::cli {
namespace {

constexpr const char* kAfterwards = R"(Examples:
  tensorstat convert statistic.csv -o ours.csv --to ours
  tensorstat convert run -o converted --to mindspore-2.7      each folder of run that has rows, as converted/...
  tensorstat convert dump/20261122 -o cann_as_rows --to ours  the csv files of a folder in one statistic.csv
  tensorstat convert statistic.csv -o runs --to cann          a csv for each run of an operator
  tensorstat convert statistic.csv -o dump.json --to msprobe  each run of an operator as a call
  tensorstat convert run -o events --to tensorboard           tensorboard --logdir events
  tensorstat convert run -o run.trend.db --to msprobe-trend   for msprobe's TREND ANALYZER

OUT is one file if it ends in .csv (for msprobe in .json), all rows come from one folder, and the dialect keeps
them in one file. Else it is a folder, and has no such ending. OUT must not exist, or be an empty folder. It
appears when everything is in it. stderr says what the other dialect cannot hold: each row if there are few,
else their number and the first.
Exit status: 0 done, 2 wrong usage, 3 some input could not be read (the others, and the rows before the
fault, are converted), 5 the output could not be written, or the other dialect can hold none of the rows.)";

using Folders = std::map<std::string, std::vector<std::string>>;  // files of rows, by their folder below OUT

class Conversion {
 public:
  Conversion(std::optional<Dialect> to, Console& console) : to_(to), console_(console) {}

  // Converts the rows of all these files into an existing folder. Returns only errors of the output.
  Status convert(const std::vector<std::string>& files, const std::string& folder) {
    const auto target = target_of(files, folder);
    for (const std::string& file : files) {
      Status written;
      const CallListener calls{[&] { return written = target->begin_call(); },
                               [&](CallRead&& call) { return written = target->end_call(std::move(call)); }};
      const auto carry = [&](Row&& row) { return written = target->carry(std::move(row)); };
      const auto read = read_calls_of_file(file, carry, calls);
      if (!written) return written;
      if (read) continue;
      complain(read.error());
      if (Status ended = target->end_call({}); !ended) return ended;  // ends the call in which reading failed
    }
    if (Status finished = target->finish(); !finished) return finished;
    rows_ += target->rows;
    files_ += target->files;
    return {};
  }

  void complain(const Error& error) {
    console_.complain(error.message);
    exit_ = kNotRead;
  }

  // Whether an output is kept: there are rows, or the inputs were read and have none.
  bool has_output() const { return rows_ != 0 || (exit_ == kDone && losses_.refused_rows() == 0); }

  int report(std::size_t read) const {
    for (const std::string& line : losses_.words()) console_.say(line);
    const std::uint64_t refused = losses_.refused_rows();
    console_.say(counted_noun(rows_, "row") + " of " + counted_noun(read, "file") + " converted, into " +
                 std::to_string(has_output() ? files_ : 0) +
                 (refused == 0
                      ? ""
                      : "; " + std::to_string(refused) + (refused == 1 ? " row was" : " rows were") + " not carried"));
    return rows_ == 0 && refused != 0 ? std::max<int>(exit_, kNotWritten) : exit_;
  }

 private:
  std::unique_ptr<RowTarget> target_of(const std::vector<std::string>& files, const std::string& folder) {
    RowFormat format{to_.value_or(Dialect::kOurs), {}, {}};
    std::string framework;
    for (const std::string& file : files) {
      const auto read = read_columns(file);
      if (!read) continue;  // convert() reports it
      add_once(format.categories, read->categories);
      add_once(format.columns, read->columns);
      if (framework.empty()) framework = read->framework;
    }
    return to_ ? make_target(folder, std::move(format), losses_) : make_dump_json_target(folder, framework, losses_);
  }

  const std::optional<Dialect> to_;
  Console& console_;
  ConversionLosses losses_;
  std::uint64_t rows_ = 0, files_ = 0;
  int exit_ = kDone;
};

// One output folder for each input folder that has files. If all files are in one folder, OUT itself.
Status convert_all(const Folders& folders, const std::string& below, Conversion& conversion) {
  for (const auto& [relative, files] : folders) {
    const std::string folder = relative.empty() ? below : below + "/" + relative;
    if (const auto unmade = make_folders(folder)) {
      return Error{Code::kUnwritable, "the folder " + printable(unmade->folder) +
                                          " cannot be made: " + std::generic_category().message(unmade->error)};
    }
    if (Status converted = conversion.convert(files, folder); !converted) return converted;
  }
  return {};
}

// The files by their folder below OUT, each once. An error: files of two dumps would be in one folder, where nothing
// tells their rows apart. Files that the user named himself may be.
Result<Folders> folders_of(const std::vector<RowFile>& files, const std::vector<std::string>& named) {
  Folders folders;
  std::map<std::string, std::string> homes;  // where the files of a folder come from
  std::set<std::string> known;
  const std::set<std::string_view> by_name(named.begin(), named.end());
  for (const RowFile& file : files) {
    if (!known.insert(file.path).second) continue;
    folders[file.folder].push_back(file.path);
    if (by_name.contains(file.path)) continue;
    const std::string home = file.path.substr(0, file.path.rfind('/') + 1);  // npos + 1 is 0
    const std::string& other = homes.try_emplace(file.folder, home).first->second;
    if (other == home) continue;
    return Error{Code::kInvalid,
                 printable(other) + " and " + printable(home) + " would be one folder; convert each dump by itself"};
  }
  return folders;
}

// The formats of --to beside the dialects.
enum class OtherFormat : std::uint8_t { kDumpJson, kTensorBoard, kTrendDatabase };
using TargetFormat = std::variant<Dialect, OtherFormat>;

struct ConvertArguments {
  std::vector<std::string> paths;
  std::string output;
  TargetFormat to;
};

// "3 of x, 2 of y": those that are not 0.
std::string counts_of(std::initializer_list<std::pair<std::uint64_t, std::string_view>> counts) {
  std::string text;
  for (const auto& [count, words] : counts) {
    if (count != 0) text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + std::string(words);
  }
  return text;
}

// Files of other tools, which hold a run by iteration and rank.
int run_export(const ConvertArguments& arguments, OtherFormat format, Console& console) {
  if (arguments.paths.size() != 1)
    return console.say("--to tensorboard and --to msprobe-trend take one PATH, a run"), kUsage;
  const std::string& path = arguments.paths.front();
  const bool is_file = format == OtherFormat::kTrendDatabase;
  if (is_file && !arguments.output.ends_with(".trend.db")) {
    return console.say(printable(arguments.output) + ": msprobe looks for names that end in .trend.db"), kUsage;
  }
  int exit = kDone;
  RunRows rows(
      path, {},
      {[&](std::string_view words) {
         console.say(words);
         exit = kNotRead;
       },
       [&](std::size_t done, std::size_t total, std::uint64_t bytes) { console.progress(done, total, bytes); }},
      {.is_alone = true});
  RemovedOnSignal removed;
  auto staged = StagedFolder::open(arguments.output);
  if (!staged) return console.say(staged.error().message), kNotWritten;
  removed.guard(staged->path());
  const auto fail = [&](const Error& error) {
    console.hide_progress();
    console.say(error.message);
    return error.code == Code::kUnreadable ? kNotRead : kNotWritten;
  };
  std::string summary, lost;
  if (is_file) {
#ifdef TENSORSTAT_STORE
    const auto written = write_trend_db(rows, path, staged->path() + "/run.trend.db");
    if (!written) return fail(written.error());
    summary = counted_noun(written->rows, "row") + " converted";
    lost = counts_of({{written->nan, "NaN became no value"},
                      {written->inf, "Inf became 1e9 + 1 or -1e9 - 1"},
                      {written->clipped, "values were clipped to 1e9"},
                      {written->without, "rows have none of its statistics"}});
#else
    return console.say("this tensorstat was built without SQLite; build it where libsqlite3-dev is installed"), kUsage;
#endif
  } else {
    const auto written = write_events(rows, path, staged->path());
    if (!written) return fail(written.error());
    summary = counted_noun(written->rows, "row") + " converted, into " + counted_noun(written->files, "file") + ": " +
              counted_noun(written->scalars, "scalar") + ", " + counted_noun(written->histograms, "histogram");
    lost = counts_of({{written->beyond_float32, "numbers are Inf or 0 in TensorBoard's float32"}});
  }
  console.hide_progress();
  if (Status placed = staged->place(is_file ? "run.trend.db" : ""); !placed) return fail(placed.error());
  if (!lost.empty()) console.say("what the other format cannot hold: " + lost);
  console.say(summary);
  return exit;
}

int run_convert(const ConvertArguments& arguments, Console& console) {
  std::optional<Dialect> to;  // nullopt: msprobe's dump.json
  if (const auto* other = std::get_if<OtherFormat>(&arguments.to)) {
    if (*other != OtherFormat::kDumpJson) return run_export(arguments, *other, console);
  } else {
    to = std::get<Dialect>(arguments.to);
  }
  Conversion conversion(to, console);
  std::vector<Error> faults;
  const auto files = find_row_files(arguments.paths, faults);
  for (const Error& fault : faults) conversion.complain(fault);
  if (files.empty()) return kNotRead;
  auto folders_read = folders_of(files, arguments.paths);
  if (!folders_read) return console.say(folders_read.error().message), kUsage;
  Folders folders = *std::move(folders_read);

  const auto fail = [&](const Error& error) {
    console.say(error.message);
    return kNotWritten;
  };
  const auto name = rows_file(to);
  const bool is_one_file = name && folders.size() == 1 && arguments.output.ends_with(name->substr(name->rfind('.')));
  if (!is_one_file && (arguments.output.ends_with(".csv") || arguments.output.ends_with(".json"))) {
    console.say(printable(arguments.output) + ": would be a folder, as " +
                (folders.size() > 1 ? "the rows come from " + std::to_string(folders.size()) + " folders"
                 : name             ? "the file in it is " + *name
                                    : "each run of an operator has a file") +
                "; give it a name without an extension");
    return kUsage;
  }
  std::size_t count = 0;
  for (const auto& [folder, each] : folders) count += each.size();
  if (is_one_file) folders = {{"", std::move(folders.begin()->second)}};
  RemovedOnSignal removed;
  auto staged = StagedFolder::open(arguments.output);
  if (!staged) return fail(staged.error());
  removed.guard(staged->path());
  if (Status converted = convert_all(folders, staged->path(), conversion); !converted) return fail(converted.error());
  if (!conversion.has_output()) return conversion.report(count);
  if (Status placed = staged->place(is_one_file ? *name : ""); !placed) return fail(placed.error());
  return conversion.report(count);
}

}  // namespace

Subcommand convert_command(App command) {
  const auto arguments = std::make_shared<ConvertArguments>();
  App convert = command.add_subcommand(
      "convert", "Convert rows of statistics to another dialect, and report what it cannot express");
  convert
      .add_option("PATH", arguments->paths,
                  "Files of rows, and folders: each statistic.csv, dump.json and csv of an operator's run in them")
      .type_name("")
      .required();
  convert.add_option("-o,--output", arguments->output, "The new file or folder; it must not exist yet")
      .check(names_output())
      .type_name("OUT")
      .required();
  Choices<TargetFormat> formats;
  std::string words;
  for (const std::string_view each : dialect_names()) {
    formats.emplace_back(each, *dialect_from(each));
    words.append(each).append("|");
  }
  words += "msprobe|tensorboard|msprobe-trend";
  formats.emplace_back("msprobe", OtherFormat::kDumpJson);
  formats.emplace_back("tensorboard", OtherFormat::kTensorBoard);
  formats.emplace_back("msprobe-trend", OtherFormat::kTrendDatabase);
  add_choice(convert, "--to", arguments->to, formats,
             "The dialect; msprobe is its dump.json. Or tensorboard: event files; msprobe-trend: a .trend.db")
      .type_name(words)
      .required();
  convert.footer(kAfterwards);
  return {convert, [arguments](Console& console) { return run_convert(*arguments, console); }};
}

}  // namespace tensorstat::cli
