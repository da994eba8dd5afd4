// `tensorstat report` says whether a run went wrong, where first, and what to look at next: as text, as JSON, or as one
// HTML page.

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "stats/cli/exit_status.hpp"
#include "stats/cli/inputs.hpp"
#include "stats/cli/options/options.hpp"
#include "stats/cli/report/output.hpp"
#include "stats/cli/subcommand.hpp"
#include "stats/compare/origin/verdict.hpp"
#include "stats/findings/findings.hpp"
#include "stats/page/page.hpp"

namespace tensorstat::cli {
namespace {

struct ReportArguments {
  std::string path, run, format, output;
  std::vector<std::string> limits;  // "jump=20"
};

// RULE=NUMBER
Result<RuleLimits> limits_from(const std::vector<std::string>& texts) {
  RuleLimits limits;
  for (const std::string& text : texts) {
    const std::size_t sign = text.find('=');
    const auto rule = finding_rule_from(std::string_view(text).substr(0, sign));
    double limit = 0;
    if (!rule || facts(*rule).limit == 0 || sign == text.npos ||
        !CLI::detail::lexical_cast(text.substr(sign + 1), limit) || !(limit > 0)) {
      std::string names;
      for (const FindingRuleFacts& each : kFindingRules) {
        if (each.limit != 0) names += (names.empty() ? "" : ", ") + std::string(each.name);
      }
      return Error{Code::kInvalid, "--limit takes RULE=NUMBER, a number above 0 and one of the rules " + names +
                                       "; this is '" + text + "'"};
    }
    limits.limits[*rule] = limit;
  }
  return limits;
}

PageWords page_words(const Findings& findings, const Answer& answer, const std::string& path) {
  PageWords words{.source = path,
                  .verdict = findings.verdict,
                  .findings = {},
                  .row = answer.verdict.row,
                  .not_measured = findings.not_measured,
                  .notes = findings.notes};
  for (const Finding& finding : findings.list) {
    words.findings.push_back({.rule = std::string(facts(finding.rule).name),
                              .severity = std::string(name(facts(finding.rule).severity)),
                              .op_name = finding.op_name,
                              .io = finding.io.empty() ? "" : finding.io + "." + std::to_string(finding.slot),
                              .rank = finding.rank,
                              .first_iteration = finding.first_iteration,
                              .last_clean_iteration = finding.last_clean_iteration,
                              .text = finding.text,
                              .next = finding.next});
  }
  return words;
}

std::string text_of(const Findings& findings) {
  std::string text;
  for (const std::string& sentence : findings.verdict) text += (text.empty() ? "" : "  ") + sentence + "\n";
  if (!findings.list.empty()) text += "\n";
  for (const Finding& finding : findings.list) {
    std::string line = std::string(name(facts(finding.rule).severity)) + "  ";
    line.resize(9, ' ');
    line += std::string(facts(finding.rule).name);
    line.resize(19, ' ');
    line += "iteration " + std::to_string(finding.first_iteration) + ", rank " + std::to_string(finding.rank) + ": ";
    // The verdict has the sentence of the fault.
    line += finding.rule <= FindingRule::kInf ? finding.op_name : finding.text;
    text += line + "\n" + std::string(19, ' ') + "next: " + finding.next + "\n";
  }
  for (const std::string& note : findings.notes) text += "note: " + note + "\n";
  if (!findings.not_measured.empty()) {
    text += "\nNot judged:\n";
    for (const std::string& each : findings.not_measured) text += "  " + each + "\n";
  }
  return text;
}

int run_report(ReportArguments arguments, Console& console) {
  const auto path = path_of_run(arguments.path, arguments.run);
  if (!path) return console.say(path.error().message), kUsage;
  arguments.path = *path;
  if (Status allowed = check_is_no_input(arguments.output, {&arguments.path, 1}); !allowed) {
    return console.say(allowed.error().message), kUsage;
  }
  const auto limits = limits_from(arguments.limits);
  if (!limits) return console.say(limits.error().message), kUsage;
  const ReadListener listener = {
      [&](std::string_view words) { console.say(words); },
      [&](std::size_t done, std::size_t total, std::uint64_t bytes) { console.progress(done, total, bytes); }};
  auto read = read_history(arguments.path, {}, listener);
  console.hide_progress();
  if (!read) return console.say(read.error().message), kNotRead;
  const Record& record = read->recorded.record;
  const Answer answer = answer_of(record, read->recorded.hints, {});
  const Findings findings = find_in(read->history, record, answer, *limits);
  int exit = findings.is_clean() ? kDone : kFound;
  if (!read->recorded.is_whole) exit = kNotRead;

  std::string format = arguments.format;
  if (format.empty()) format = arguments.output.ends_with(".html") ? "html" : "text";
  if (format == "text") return write_out(arguments.output, text_of(findings), exit, console);
  if (format == "json") return write_out(arguments.output, json_of(findings), exit, console);
  const auto contents = page_contents(record, page_words(findings, answer, arguments.path));
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
      "report", "Whether a run went wrong, where first, and what to look at next: as text, JSON or one HTML page");
  report->add_option("DUMP", arguments->path, "A statistic.csv, a dump's folder, or tensors named as in a dump")
      ->type_name("")
      ->required();
  report->add_option("--run", arguments->run, "The run, if DUMP is a store")->type_name("NAME");
  report
      ->add_option("--format", arguments->format, "text, json or html; by default text, and html if FILE ends in .html")
      ->check(CLI::IsMember({"text", "json", "html"}).description(""))
      ->type_name("FORMAT");
  report->add_option("-o,--output", arguments->output, "Write to this file, whole or not at all, instead of stdout")
      ->check(names_output())
      ->type_name("FILE");
  report->add_option("--limit", arguments->limits, "Another limit for a rule, such as jump=20; may be repeated")
      ->type_name("RULE=NUMBER");
  report->footer(
      "Examples:\n"
      "  tensorstat report dump                     the verdict, and what else was found\n"
      "  tensorstat report dump -o page.html        a page for a browser; it needs no network\n"
      "  tensorstat report dump --format json | jq '.findings[] | {rule, op_name, first_iteration}'\n\n"
      "The rules: nan, inf, overflow, jump, drift, dead, frozen, ranks, stopped. Their definitions are in "
      "stats/doc/report.md. What follows from a NaN or Inf is no finding of its own.\n\n"
      "Exit status: 0 nothing found; 1 something was found; 2 wrong usage; 3 some input could not be read; 5 the "
      "result could not be written.");
  return {report, [arguments](Console& console) { return run_report(*arguments, console); }};
}

}  // namespace tensorstat::cli
