// `tensorstat report` writes a run as one HTML page.

#include <CLI/CLI.hpp>
#include <memory>
#include <utility>

#include "stats/cli/exit_status.hpp"
#include "stats/cli/inputs.hpp"
#include "stats/cli/report/output.hpp"
#include "stats/cli/subcommand.hpp"
#include "stats/compare/origin/verdict.hpp"
#include "stats/compare/recorded.hpp"
#include "stats/page/page.hpp"

namespace tensorstat::cli {
namespace {

struct ReportArguments {
  std::string path, output;
};

// The verdict of `origin`, as the page's words.
PageWords words_of_answer(const Answer& answer, const Record& record, const std::string& path) {
  PageWords words;
  words.source = path;
  const FaultVerdict& verdict = answer.verdict;
  words.verdict.push_back(verdict.sentence);
  words.verdict.insert(words.verdict.end(), verdict.details.begin(), verdict.details.end());
  words.notes = answer.notes;
  words.not_measured = verdict.not_watched;
  if (verdict.kind == FaultKind::kNone) return words;
  PageFinding finding{.rule = std::string(name(verdict.kind)),
                      .severity = "error",
                      .op_name = verdict.guilty.op_name,
                      .rank = verdict.rank,
                      .first_iteration = verdict.iteration,
                      .last_clean_iteration = verdict.last_clean_iteration,
                      .text = verdict.sentence,
                      .next = verdict.next};
  if (finding.op_name.empty() && verdict.row != kNoRow) {
    finding.op_name = record.texts()[record.rows()[verdict.row].name];
  }
  words.row = verdict.row;
  words.findings.push_back(std::move(finding));
  return words;
}

int run_report(const ReportArguments& arguments, Console& console) {
  if (Status allowed = check_is_no_input(arguments.output, {&arguments.path, 1}); !allowed) {
    return console.say(allowed.error().message), kUsage;
  }
  const ReadListener listener = {
      [&](std::string_view words) { console.say(words); },
      [&](std::size_t done, std::size_t total, std::uint64_t bytes) { console.progress(done, total, bytes); }};
  auto read = read_recorded(arguments.path, {}, listener, {.is_alone = true});
  console.hide_progress();
  if (!read) return console.say(read.error().message), kNotRead;
  const Answer answer = answer_of(read->record, read->hints, {});
  int exit = answer.verdict.kind == FaultKind::kNone ? kDone : kFound;
  if (!read->is_whole) exit = kNotRead;
  const auto contents = page_contents(read->record, words_of_answer(answer, read->record, arguments.path));
  if (!contents) return console.say(arguments.path + ": " + contents.error().message), kUsage;
  std::string page;
  const Status written = write_page(*contents, [&](std::string_view piece) {
    page += piece;
    return Status();
  });
  if (!written) return console.say(written.error().message), kNotWritten;
  return write_out(arguments.output, page, exit, console);
}

}  // namespace

Subcommand report_command(CLI::App& command) {
  const auto arguments = std::make_shared<ReportArguments>();
  CLI::App* report = command.add_subcommand(
      "report", "A run on one HTML page: whether it went wrong, where first, and its tensors over the iterations");
  report->add_option("DUMP", arguments->path, "A file of rows, or a folder")->type_name("")->required();
  report->add_option("-o,--output", arguments->output, "Write to this file, whole or not at all, instead of stdout")
      ->check(names_output())
      ->type_name("FILE");
  return {report, [arguments](Console& console) { return run_report(*arguments, console); }};
}

}  // namespace tensorstat::cli
