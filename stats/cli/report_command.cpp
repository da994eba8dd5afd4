// `tensorstat report` says whether a run went wrong, where first, and what to look at next: as text, as JSON, or as one
// HTML page.

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "stats/cli/exit_status.hpp"
#include "stats/cli/inputs.hpp"
#include "stats/cli/options/options.hpp"
#include "stats/cli/report/output.hpp"
#include "stats/cli/subcommand.hpp"
#include "stats/exports/open_metrics.hpp"
#include "stats/findings/findings.hpp"
#include "stats/page/run_report.hpp"

namespace tensorstat::cli {
namespace {

struct ReportArguments {
  std::string path, run, format, output;
  std::vector<std::string> limits;  // "jump=20"
};

int run_report(ReportArguments arguments, Console& console) {
  const auto path = path_of_run(arguments.path, arguments.run);
  if (!path) return console.say(path.error().message), kUsage;
  arguments.path = *path;
  if (Status allowed = check_is_no_input(arguments.output, {&arguments.path, 1}); !allowed) {
    return console.say(allowed.error().message), kUsage;
  }
  const auto limits = finding_limits_from(CLI::detail::join(arguments.limits, ","));
  if (!limits) return console.say("--limit: " + limits.error().message), kUsage;
  const ReadListener listener = {
      [&](std::string_view words) { console.say(words); },
      [&](std::size_t done, std::size_t total, std::uint64_t bytes) { console.progress(done, total, bytes); }};
  auto run = judge_run(arguments.path, *limits, {}, listener);
  console.hide_progress();
  if (!run) return console.say(run.error().message), kNotRead;
  const Findings& findings = run->findings;
  int exit = findings.is_clean() ? kDone : kFound;
  if (!findings.faults.empty()) exit = kNotRead;

  std::string format = arguments.format;
  if (format.empty()) format = arguments.output.ends_with(".html") ? "html" : "text";
  if (format == "text") return write_out(arguments.output, text_of(findings), exit, console);
  if (format == "openmetrics") return write_out(arguments.output, open_metrics_of(*run), exit, console);
  if (format == "json") return write_out(arguments.output, json_of(findings), exit, console);
  const auto page = page_of(*run, arguments.path);
  if (!page) return console.say(arguments.path + ": " + page.error().message), kUsage;
  return write_out(arguments.output, *page, exit, console);
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
      ->add_option("--format", arguments->format,
                   "text, json, html or openmetrics; by default text, and html if FILE ends in .html")
      ->check(CLI::IsMember({"text", "json", "html", "openmetrics"}).description(""))
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
      "  tensorstat report dump --format openmetrics -o /var/lib/node_exporter/tensorstat.prom   for an alert\n"
      "  tensorstat report dump --format json | jq '.findings[] | {rule, op_name, first_iteration}'\n\n"
      "The rules: nan, inf, turned, overflow, jump, drift, dead, frozen, gone, ranks, stopped. Their definitions are "
      "in stats/doc/report.md. What follows from a NaN or Inf is no finding of its own.\n\n"
      "Exit status: 0 nothing found; 1 something was found; 2 wrong usage; 3 some input could not be read; 5 the "
      "result could not be written.");
  return {report, [arguments](Console& console) { return run_report(*arguments, console); }};
}

}  // namespace tensorstat::cli
