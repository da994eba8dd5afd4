// `tensorstat report` says whether a run went wrong, where first, and what to look at next: as text, as JSON, or as one
// HTML page.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "stats/answer/findings/findings.hpp"
#include "stats/answer/findings/live_run.hpp"
#include "stats/show/cli/exit_status.hpp"
#include "stats/show/cli/inputs.hpp"
#include "stats/show/cli/options/options.hpp"
#include "stats/show/cli/report/output.hpp"
#include "stats/show/cli/subcommand.hpp"
#include "stats/show/exports/open_metrics.hpp"
#include "stats/show/page/picture.hpp"
#include "stats/show/page/run_report.hpp"

namespace tensorstat::cli {
namespace {

struct ReportArguments {
  std::string path, other, run, format, output;
  double follow = 0;                // seconds
  std::vector<std::string> limits;  // "jump=20"
};

volatile std::sig_atomic_t was_interrupted = 0;

// Writes the page again and again while the run is written, until the user ends it. The last page does not reload
// itself.
int follow_run(const ReportArguments& arguments, const FindingLimits& limits, Console& console) {
  LiveRun run(arguments.path, limits);
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, [](int) { was_interrupted = 1; });
  console.say("writes " + arguments.output + " while " + arguments.path + " grows; Ctrl-C ends it");
  const auto gap =
      std::chrono::duration_cast<LiveRun::Clock::duration>(std::chrono::duration<double>(arguments.follow));
  LiveRun::Clock::time_point next{};
  std::uint64_t shown_rows = 0;
  const auto write = [&](std::uint64_t follow_seconds) {
    if (!run.is_judged()) run.judge();
    const auto page = page_of({{&run.history(), &run.verdict(), &run.findings(), arguments.path}}, follow_seconds);
    if (!page) return console.say(page.error().message), kNotWritten;
    shown_rows = run.history().row_count();
    const int exit = run.findings().is_clean() ? kDone : kFound;
    return static_cast<Exit>(write_out(arguments.output, *page, exit, console));
  };
  while (was_interrupted == 0) {
    for (const std::string& fault : run.look().faults) console.say(fault);
    const auto now = LiveRun::Clock::now();
    if (now >= next && run.history().row_count() != shown_rows) {
      if (write(static_cast<std::uint64_t>(std::ceil(arguments.follow))) == kNotWritten) return kNotWritten;
      // The page of a large run takes seconds: then it is written less often.
      next = now + std::max(gap, (LiveRun::Clock::now() - now) * 10);
    }
    std::this_thread::sleep_for(run.pause());
  }
  return run.history().row_count() == 0 ? kNotRead : write(0);
}

int run_report(ReportArguments arguments, Console& console) {
  const auto path = path_of_run(arguments.path, arguments.run);
  if (!path) return console.say(path.error().message), kUsage;
  arguments.path = *path;
  const bool has_two = !arguments.other.empty();
  std::vector<std::string> paths = {arguments.path};
  if (has_two) paths.push_back(arguments.other);
  if (Status allowed = check_is_no_input(arguments.output, paths); !allowed) {
    return console.say(allowed.error().message), kUsage;
  }
  std::string format = arguments.format;
  for (const char* each : {"json", "html", "svg", "png"}) {
    if (format.empty() && arguments.output.ends_with(std::string(".") + each)) format = each;
  }
  if (format.empty()) format = "text";
  if (has_two && format != "html") return console.say("two runs are shown on a page: -o page.html"), kUsage;
  const auto limits = finding_limits_from(joined_words(arguments.limits, ","));
  if (!limits) return console.say("--limit: " + limits.error().message), kUsage;
  if (arguments.follow > 0) {
    if (format == "html" && !arguments.output.empty() && !has_two) return follow_run(arguments, *limits, console);
    return console.say("--follow writes the page of one run: report DUMP -o page.html --follow 10"), kUsage;
  }
  const ReadListener listener = {
      [&](std::string_view words) { console.say(words); },
      [&](std::size_t done, std::size_t total, std::uint64_t bytes) { console.progress(done, total, bytes); }};
  std::vector<JudgedRun> runs;
  int exit = kDone;
  for (const std::string& each : paths) {
    auto run = judge_run(each, *limits, {}, listener);
    console.hide_progress();
    if (!run) return console.say(run.error().message), kNotRead;
    exit = std::max<int>(exit, !run->findings.faults.empty() ? kNotRead : run->findings.is_clean() ? kDone : kFound);
    runs.push_back(*std::move(run));
  }
  const Findings& findings = runs.front().findings;
  if (format == "text") return write_out(arguments.output, text_of(findings), exit, console);
  if (format == "openmetrics") return write_out(arguments.output, open_metrics_of(runs.front()), exit, console);
  if (format == "json") return write_out(arguments.output, json_of(findings), exit, console);
  Result<std::string> drawn = Error{};
  if (format == "html") {
    std::vector<PageRun> shown;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      shown.push_back({&runs[i].history, &runs[i].verdict, &runs[i].findings, paths[i]});
    }
    drawn = page_of(shown);
  } else {
    drawn = format == "png" ? png_of(runs.front().history) : svg_of(runs.front().history, findings, arguments.path);
  }
  if (!drawn) return console.say(arguments.path + ": " + drawn.error().message), kUsage;
  return write_out(arguments.output, *drawn, exit, console);
}

}  // namespace

Subcommand report_command(App command) {
  const auto arguments = std::make_shared<ReportArguments>();
  App report = command.add_subcommand(
      "report", "Whether a run went wrong, where first, and what to look at next: as text, JSON or one HTML page");
  report.add_option("DUMP", arguments->path, "A statistic.csv, a dump's folder, or tensors named as in a dump")
      .type_name("")
      .required();
  report.add_option("B", arguments->other, "A second run: the page holds it against the first")
      .check(names_output())
      .type_name("");
  report.add_option("--run", arguments->run, "The run, if DUMP is a store").type_name("NAME");
  report
      .add_option(
          "--format", arguments->format,
          "text, json, html, svg, png or openmetrics; by default json, html, svg or png as FILE ends, else text")
      .one_of({"text", "json", "html", "svg", "png", "openmetrics"})
      .type_name("FORMAT");
  report.add_option("-o,--output", arguments->output, "Write to this file, whole or not at all, instead of stdout")
      .check(names_output())
      .type_name("FILE");
  report
      .add_option("--follow", arguments->follow,
                  "Write the page again every so many seconds while the run is written; it reloads itself")
      .between(0.5, 86400.0)
      .type_name("SECONDS");
  report.add_option("--limit", arguments->limits, "Another limit for a rule, such as jump=20; may be repeated")
      .type_name("RULE=NUMBER");
  std::vector<std::string> rules;
  for (const FindingRuleFacts& rule : kFindingRules) rules.emplace_back(rule.name);
  report.footer(
      "Examples:\n"
      "  tensorstat report dump                     the verdict, and what else was found\n"
      "  tensorstat report dump -o page.html        a page for a browser; it needs no network\n"
      "  tensorstat report dump -o page.html --follow 10    while the training writes\n"
      "  tensorstat report a b -o page.html         two runs, one over the other\n"
      "  tensorstat report dump -o map.png          the map alone; .svg has the verdict, too\n"
      "  tensorstat report dump --format openmetrics -o /var/lib/node_exporter/tensorstat.prom   for an alert\n"
      "  tensorstat report dump --format json | jq '.findings[] | {rule, op_name, first_iteration}'\n\n"
      "The rules: " +
      joined_words(rules, ", ") +
      ". Their definitions are in stats/doc/report.md. What follows from a NaN or Inf is no finding of its own.\n\n"
      "Exit status: 0 nothing found; 1 something was found; 2 wrong usage; 3 some input could not be read; 5 the "
      "result could not be written.");
  return {report, [arguments](Console& console) { return run_report(*arguments, console); }};
}

}  // namespace tensorstat::cli
