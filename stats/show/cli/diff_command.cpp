// `tensorstat diff` finds where two runs part. `tensorstat origin` finds where NaN and Inf began in one run.

#include <unistd.h>

#include <map>
#include <memory>
#include <utility>

#include "stats/answer/compare/comparison_json.hpp"
#include "stats/answer/origin/run_search.hpp"
#include "stats/core/base/printable.hpp"
#include "stats/data/files/io/whole_file.hpp"
#include "stats/data/rows/row_source.hpp"
#include "stats/show/cli/exit_status.hpp"
#include "stats/show/cli/inputs.hpp"
#include "stats/show/cli/msprobe_rules.hpp"
#include "stats/show/cli/options/options.hpp"
#include "stats/show/cli/options/plain_options.hpp"
#include "stats/show/cli/report/diff_rows.hpp"
#include "stats/show/cli/report/output.hpp"
#include "stats/show/cli/report/report_diff.hpp"
#include "stats/show/cli/subcommand.hpp"

namespace tensorstat::cli {
namespace {

struct DiffArguments {
  std::string a, b;
  std::string runs;               // two of the store A, with a comma between them, instead of B
  DiffOptions options;            // without the texts of tolerances and names
  std::string tolerances, names;  // paths of these files
  bool all = false;
  Format format = Format::kTable;
  std::string where, sort, columns;  // as typed
  std::optional<std::uint64_t> top;
  std::string rules;  // "msprobe"; empty: tensorstat's own rules
  MsprobeArguments msprobe;
  std::string output;  // empty: stdout
};

struct OriginArguments {
  std::string path, run;
  bool nan_only = false, inf = false, all = false, is_json = false;
  std::string output;
};

constexpr std::size_t kMostShownBytes = 100;               // of a name in an error
constexpr std::uint64_t kMostPairs = 10;                   // in a table, unless more are asked for
constexpr std::size_t kMostBytes = std::size_t{16} << 20;  // of a file of tolerances or names

ReadListener listener_of(Console& console) {
  return {[&](std::string_view words) { console.complain(words); },
          [&](std::size_t done, std::size_t total, std::uint64_t bytes) { console.progress(done, total, bytes); }};
}

// Why no row of A has a partner in B.
std::string why_nothing_pairs(const Record& a, const Record& b) {
  const auto name = [](const Record& record, const RecordRow& row) { return record.texts()[row.name]; };
  const auto place = [](const RecordRow& row) {
    return (row.execution == Execution::kUnknown ? "" : std::string(tensorstat::name(row.execution)) + ", ") + "rank " +
           std::to_string(row.rank) + ", iteration " + std::to_string(row.iteration) +
           (row.is_input ? ", input " : ", output ") + std::to_string(row.slot);
  };
  std::map<std::string_view, const RecordRow*> in_b;
  for (const RecordRow& row : b.rows()) in_b.emplace(name(b, row), &row);
  for (const RecordRow& row : a.rows()) {
    const auto same = in_b.find(name(a, row));
    if (same == in_b.end()) continue;
    return "nothing is paired: " + shown(name(a, row), kMostShownBytes) + " is " + place(row) + " in A, and " +
           place(*same->second) + " in B";
  }
  return "nothing is paired, as no name is in both: A has " + shown(name(a, a.rows().front()), kMostShownBytes) +
         ", B has " + shown(name(b, b.rows().front()), kMostShownBytes) +
         "; --names FILE pairs them by lines NAME_IN_A,NAME_IN_B, or old/*,new/* for a prefix";
}

// Returns the FILE of "KIND=FILE", or "" if the text has none.
std::string file_of_mapping(const std::string& mapping) {
  const std::size_t equals = mapping.find('=');
  return equals == mapping.npos ? "" : mapping.substr(equals + 1);
}

void add_output_option(App command, std::string& output) {
  command.add_option("-o,--output", output, "Write to this file, whole or not at all, instead of stdout")
      .check(names_output())
      .type_name("FILE");
}

// The pairs that the arguments choose. Tables are for people: short, unless more is asked for.
Result<PairChoice> choice_of(const DiffArguments& arguments) {
  const bool is_for_people = arguments.format == Format::kTable || arguments.format == Format::kMarkdown;
  PairChoice choice{.top = arguments.top, .is_all = arguments.all || !is_for_people};
  const auto wrong = [](const char* option, const Error& error) {
    return Error{Code::kInvalid, std::string(option) + ": " + error.message};
  };
  if (!arguments.where.empty()) {
    auto rule = Rule::parse(arguments.where, About::kPairs);
    if (!rule) return wrong("--where", rule.error());
    choice.where = *std::move(rule);
  }
  if (!arguments.sort.empty()) {
    const bool is_reversed = arguments.sort.starts_with('-');
    const auto subject = subject_from(std::string_view(arguments.sort).substr(is_reversed), About::kPairs);
    if (!subject) return wrong("--sort", subject.error());
    choice.sort = Sort{*subject, is_reversed};
  }
  if (!arguments.columns.empty()) {
    auto columns = subjects_from(arguments.columns, About::kPairs);
    if (!columns) return wrong("--columns", columns.error());
    choice.columns = *std::move(columns);
  }
  if (!choice.top && !choice.is_all && !choice.where) choice.top = kMostPairs;
  return choice;
}

std::string document_of(const Compared& compared, const DiffArguments& arguments, const PairChoice& choice) {
  if (compared.first) return beginnings_of(compared) + unmatched_of(compared, false) + summary_of(compared);
  std::uint64_t left = 0;
  const std::vector<PairRow> rows = chosen_pairs(compared, choice, left);
  const Look look = look_of(Color::kAuto, arguments.output);
  std::string text = table_of(rows, choice, arguments.format == Format::kMarkdown, look);
  if (arguments.format == Format::kMarkdown && !text.empty()) text += "\n";
  if (left != 0) text += "and " + std::to_string(left) + " more: --top N or --all\n";
  if (choice.where && rows.empty() && left == 0 && !compared.differences.pairs.empty())
    text += "0 of " + std::to_string(compared.differences.pairs.size()) + " pairs meet --where\n";
  return text + unmatched_of(compared, choice.is_all) + summary_of(compared);
}

std::string written(const Compared& compared, const DiffArguments& arguments, const PairChoice& choice) {
  if (arguments.format == Format::kTable || arguments.format == Format::kMarkdown) {
    return document_of(compared, arguments, choice);
  }
  if (arguments.format == Format::kJson && !choice.where && !choice.sort && !choice.top) return json_of(compared);
  std::uint64_t left = 0;
  const std::vector<PairRow> rows = chosen_pairs(compared, choice, left);
  if (arguments.format == Format::kCsv) return csv_of(rows, choice);
  std::vector<Pair> pairs;
  for (const PairRow& row : rows) pairs.push_back(row.pair);
  return arguments.format == Format::kJson ? json_of(compared, pairs) : json_lines_of(compared, pairs);
}

int run_diff(DiffArguments arguments, Console& console) {
  if (!arguments.runs.empty()) {
    const std::size_t comma = arguments.runs.find(',');
    if (!stored_path(arguments.a) || comma == arguments.runs.npos) {
      return console.say("--runs wants a store as A and the names of two of its runs: --runs a,b"), kUsage;
    }
    arguments.b = arguments.a + "//" + arguments.runs.substr(comma + 1);
    arguments.a += "//" + arguments.runs.substr(0, comma);
  }
  if (arguments.b.empty()) {
    return console.say("B is required, or with a store --runs a,b\nTry 'tensorstat diff --help'."), kUsage;
  }
  const std::string inputs[] = {arguments.a,
                                arguments.b,
                                arguments.tolerances,
                                arguments.names,
                                arguments.msprobe.merge,
                                file_of_mapping(arguments.msprobe.mapping)};
  if (Status allowed = check_is_no_input(arguments.output, inputs); !allowed) {
    return console.say(allowed.error().message), kUsage;
  }
  const auto choice = choice_of(arguments);
  if (!choice) return console.say(choice.error().message), kUsage;
  if (arguments.options.first && arguments.format != Format::kTable && arguments.format != Format::kJson) {
    return console.say("--first writes a text, or json"), kUsage;
  }
  const bool is_json = arguments.format == Format::kJson || arguments.format == Format::kNdjson;
  if (is_json && !arguments.columns.empty()) {
    return console.say("--columns: a table, Markdown and a csv have them; JSON always has the same values"), kUsage;
  }
  DiffOptions options = arguments.options;
  for (const auto& [path, text] :
       {std::pair{&arguments.tolerances, &options.tolerances}, std::pair{&arguments.names, &options.names}}) {
    if (path->empty()) continue;
    auto read = read_whole_file(*path, kMostBytes);
    if (!read) {
      console.say(read.error().message);
      return kUsage;
    }
    *text = *std::move(read);
  }
  if (!arguments.rules.empty()) {
    arguments.msprobe.names = options.names;
    return run_msprobe_rules(arguments.a, arguments.b, arguments.msprobe, arguments.output, console);
  }
  const auto wanted = choice->is_all || choice->where ? PairsWanted::kAll : PairsWanted::kUnequal;
  const auto compared = compare_paths(arguments.a, arguments.b, options, listener_of(console), wanted);
  console.hide_progress();
  if (!compared) {
    console.say(compared.error().message);
    return compared.error().code == Code::kInvalid ? kUsage : kNotRead;
  }
  const Differences& differences = (*compared)->differences;
  if ((*compared)->pair_count() == 0) console.say(why_nothing_pairs((*compared)->a.record, (*compared)->b.record));
  if (const std::string& line = (*compared)->paired_by; !line.empty())
    console.say(std::string((*compared)->is_wrapped ? "one of the two models is wrapped" : "no name is in both") +
                ": paired as --names does with the line " + printable_name(line));
  if (const std::string& line = (*compared)->would_pair; !line.empty())
    console.say("more would pair by --names with the line " + printable_name(line));
  if (const std::vector<std::string> lacking = lacking_statistics(**compared, *choice); !lacking.empty())
    console.say("no pair has " + joined_words(lacking, ", ") + ": a rule on it is never met, and its column is empty");
  int exit = differences.is_clean() ? kDone : kFound;
  if (!(*compared)->is_whole()) exit = kNotRead;
  if (arguments.format == Format::kCsv || arguments.format == Format::kNdjson) {
    console.say(summary_of(**compared).substr(0, summary_of(**compared).size() - 1));
  }
  return write_out(arguments.output, written(**compared, arguments, *choice), exit, console);
}

int run_origin(OriginArguments arguments, Console& console) {
  const auto path = path_of_run(arguments.path, arguments.run);
  if (!path) return console.say(path.error().message), kUsage;
  arguments.path = *path;
  if (Status allowed = check_is_no_input(arguments.output, {&arguments.path, 1}); !allowed) {
    return console.say(allowed.error().message), kUsage;
  }
  const bool with_lists = arguments.is_json || arguments.all;
  const auto run = search_run(arguments.path, {}, listener_of(console),
                              {.nan_only = arguments.nan_only, .ended_inf = arguments.inf, .with_lists = with_lists});
  console.hide_progress();
  if (!run) {
    console.say(run.error().message);
    return kNotRead;
  }
  const Answer& answer = run->answer;
  int exit = answer.verdict.kind == FaultKind::kNone ? kDone : kFound;
  const bool is_blind =
      answer.verdict.kind == FaultKind::kNone && (answer.verdict.is_blind || !answer.verdict.unseen.empty());
  if (!run->is_whole || is_blind) exit = kNotRead;
  std::string text;
  if (arguments.is_json) {
    text = json_of(run->record, answer);
  } else {
    text = text_of(answer, arguments.all);
    if (arguments.all) text += "\n" + lists_of(*run);
  }
  return write_out(arguments.output, text, exit, console);
}

}  // namespace

Subcommand diff_command(App command) {
  const auto arguments = std::make_shared<DiffArguments>();
  App diff = command.add_subcommand(
      "diff",
      "What differs between two runs: statistic.csv files or tensors, paired by name, rank, iteration, io and slot");
  diff.add_option("A", arguments->a, "A file of rows or of tensors, or a folder; of a folder with both, the rows")
      .type_name("")
      .required();
  diff.add_option("B", arguments->b, "The file or folder to compare it with").type_name("");
  diff.add_option("--runs", arguments->runs, "Two runs of the store A, instead of B").type_name("A,B").excludes("B");
  diff.add_flag("--first", arguments->options.first,
                "Only the operators where a difference begins: their inputs agree and their outputs do not");
  diff.add_flag("--all", arguments->all, "Every pair in the order of A, with all digits").excludes("--first");
  diff.add_option("--rtol", arguments->options.rtol,
                  "How far apart two values may be, relative to the greater; by default 1e-5, 2^-10 of float16, "
                  "2^-8 of bfloat16, 0 of integers")
      .not_negative()
      .type_name("NUMBER");
  diff.add_option("--atol", arguments->options.atol, "The same, absolute; requires --rtol")
      .not_negative()
      .type_name("NUMBER")
      .needs("--rtol");
  diff.add_flag("--any-dtype", arguments->options.any_dtype, "Compare tensors of different dtypes by their values")
      .needs("--rtol");
  diff.add_option("--tolerances", arguments->tolerances,
                  "Lines of NAME_PATTERN rtol=1e-3 atol=1e-6 dtype=any; the first pattern that matches a whole name "
                  "counts")
      .type_name("FILE");
  diff.add_option("--names", arguments->names,
                  "Lines of NAME_IN_A,NAME_IN_B for tensors with different names; old/*,new/* for prefixes")
      .type_name("FILE");
  diff.add_option("--where", arguments->where,
                  "The pairs that meet this rule, e.g. 'cosine < 0.99', 'nan b > 0' or 'a ~ \"*q_proj*\"', instead of "
                  "those that differ")
      .type_name("RULE")
      .excludes("--first");
  diff.add_option("--sort", arguments->sort,
                  "The greatest of this first, e.g. max-abs-diff; with a leading - the least first; by default what "
                  "differs most")
      .type_name("NAME")
      .excludes("--first");
  diff.add_option("--top", arguments->top, "Show no more than the first N; a table has 10 by default")
      .not_negative()
      .type_name("N")
      .excludes("--first");
  diff.add_option("--columns", arguments->columns,
                  "What to show, e.g. cosine,max-abs-diff,nan-a; any statistic of two tensors, one of a "
                  "side such as max-b, or a fact")
      .type_name("LIST")
      .excludes("--first")
      .suggest_list(subject_names(About::kPairs));
  add_choice(
      diff, "--format", arguments->format,
      {{"table", Format::kTable},
       {"csv", Format::kCsv},
       {"json", Format::kJson},
       {"ndjson", Format::kNdjson},
       {"md", Format::kMarkdown}},
      "table, csv, json, ndjson or md (Markdown); by default by the extension of -o, or table. A table is short; "
      "csv, json and ndjson have every pair")
      .type_name("FORMAT");
  add_output_option(diff, arguments->output);
  diff.add_option(
          "--rules", arguments->rules,
          "msprobe: the table, cells and verdicts of msprobe's compare, as csv, or with -o FILE.xlsx as a coloured "
          "spreadsheet; A is its NPU and B its Bench. Folders of several ranks and steps have a table for each; their "
          "names begin with the name of -o")
      .one_of({"msprobe"})
      .type_name("WHOSE")
      .excludes("--first")
      .excludes("--all")
      .excludes("--rtol")
      .excludes("--tolerances")
      .excludes("--format")
      .excludes("--where")
      .excludes("--sort")
      .excludes("--top")
      .excludes("--columns");
  diff.add_option("--mapping", arguments->msprobe.mapping,
                  "How names of A become names of B, with one of msprobe's mapping files: cell=FILE, api=FILE, "
                  "layer=FILE or data=FILE; cell, api and layer also work without a file")
      .type_name("KIND[=FILE]")
      .excludes("--names")
      .needs("--rules");
  diff.add_flag("--fuzzy-match", arguments->msprobe.is_fuzzy,
                "Pair calls whose numbers differ, in the order of both dumps, as msprobe does")
      .needs("--rules");
  diff.add_option("--merge", arguments->msprobe.merge,
                  "Write one table of all ranks instead: msprobe's merge_result. FILE is its yaml: api, a list of "
                  "parts of names, and compare_index, a list of columns; by default all")
      .type_name("FILE")
      .needs("--rules");
  diff.footer(
      "Examples:\n"
      "  tensorstat diff npu/rank_0 gpu/rank_0 --first        which operator was the first to differ\n"
      "  tensorstat diff old.safetensors new.safetensors      which weights changed most\n"
      "  tensorstat diff a b --where 'cosine < 0.99 or nan' --sort max-abs-diff --top 20\n"
      "  tensorstat diff npu/dump.json gpu/dump.json --rules msprobe -o compare_result.csv\n"
      "  tensorstat diff a b --rtol 1e-3 --format json | jq '.pairs[] | select(.verdict == \"different\").a'\n\n"
      "A pair that cannot be compared counts as different: another shape or dtype, no common statistic, a value in "
      "only one. NaN equals NaN.\n\n"
      "Exit status: 0 no difference, and every tensor has a partner; 1 a difference or a tensor without a partner, "
      "by msprobe's rules a row that does not pass; 2 wrong usage; 3 some input could not be read; 5 the result "
      "could not be written.");
  diff.parse_complete_callback([arguments, diff] {
    if (diff.is_given("--format") || diff.is_given("--rules")) return;
    const auto format = format_by_extension(arguments->output);
    const bool is_written = !arguments->options.first || format == Format::kJson;  // --first has a text, or json
    if (format && is_written) arguments->format = *format;
  });
  return {diff, [arguments](Console& console) { return run_diff(*arguments, console); }};
}

Subcommand origin_command(App command) {
  const auto arguments = std::make_shared<OriginArguments>();
  App origin = command.add_subcommand(
      "origin",
      "Find where NaN and Inf began in a dump: the call or operator, its phase, its iteration and its inputs");
  origin.add_option("DUMP", arguments->path, "A statistic.csv, a dump's folder, or tensors named as in a dump")
      .type_name("")
      .required();
  origin.add_option("--run", arguments->run, "The run, if DUMP is a store").type_name("NAME");
  origin.add_flag("--nan-only", arguments->nan_only, "Do not count Inf as a fault");
  origin
      .add_flag("--inf", arguments->inf, "Count an Inf that ended, such as a mask's Inf in a softmax, as a fault, too")
      .excludes("--nan-only");
  Option all = origin.add_flag("--all", arguments->all,
                               "Every call with NaN or Inf, too: those that produced it and those that passed it on");
  origin
      .add_option_function(
          "--format", [arguments](const std::string& word) { arguments->is_json = word == "json"; },
          "text or json; by default json if FILE ends in .json, else text")
      .one_of({"text", "json"})
      .type_name("FORMAT");
  add_output_option(origin, arguments->output);
  all.excludes("--format");
  origin.footer(
      "Example:\n"
      "  tensorstat origin dump                       which call made the first NaN, its rank and its inputs\n\n"
      "Needs rows of inputs and outputs of all ranks, with nan count and inf counts, or max and min. The line of code "
      "comes from files beside them: watch.ndjson, stack.json and construct.json, ms_output_trace_code_graph_0.ir. If "
      "a later call takes NaN or Inf in and does not pass it on, it has ended: a note says so, and it is no fault. The "
      "same holds for a step that a gradient scaler skipped.\n\n"
      "Exit status: 0 no fault, perhaps notes; 1 a fault; 2 wrong usage; 3 some input could not be read; 5 the "
      "result could not be written.");
  origin.parse_complete_callback([arguments, origin] {
    if (!origin.is_given("--format") && !arguments->all) arguments->is_json = arguments->output.ends_with(".json");
  });
  return {origin, [arguments](Console& console) { return run_origin(*arguments, console); }};
}

}  // namespace tensorstat::cli
