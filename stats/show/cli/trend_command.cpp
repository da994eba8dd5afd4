// `tensorstat trend` draws a run in the terminal: for ssh, where no browser is.

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <string>
#include <unordered_set>

#include "stats/show/cli/exit_status.hpp"
#include "stats/show/cli/inputs.hpp"
#include "stats/show/cli/options/options.hpp"
#include "stats/show/cli/report/output.hpp"
#include "stats/show/cli/subcommand.hpp"
#include "stats/show/cli/terminal/screen.hpp"
#include "stats/show/cli/terminal/trend_picture.hpp"

namespace tensorstat::cli {
namespace {

struct TrendArguments {
  std::string path, run, value, name, iterations;
  std::optional<std::uint32_t> rank;
  Color color = Color::kAuto;
};

// "120..180", "120..", "..180"
bool take_iterations(const std::string& text, HeatMap::Choice& choice) {
  if (text.empty()) return true;
  const std::size_t dots = text.find("..");
  if (dots == text.npos) return false;
  const std::string first = text.substr(0, dots), last = text.substr(dots + 2);
  const auto is_number = [](const std::string& digits, std::uint64_t& number) {
    const char* const end = digits.data() + digits.size();
    const auto [read_to, fault] = std::from_chars(digits.data(), end, number);
    return fault == std::errc() && read_to == end;
  };
  return (first.empty() || is_number(first, choice.first)) && (last.empty() || is_number(last, choice.last)) &&
         choice.first <= choice.last;
}

int run_trend(const TrendArguments& arguments, Console& console) {
  const auto path = path_of_run(arguments.path, arguments.run);
  if (!path) return console.say(path.error().message), kUsage;
  HeatMap::Choice choice{.rank = arguments.rank};
  if (!take_iterations(arguments.iterations, choice)) {
    return console.say("--iterations takes FIRST..LAST, such as 120..180; this is '" + arguments.iterations + "'"),
           kUsage;
  }
  const ReadListener listener = {
      [&](std::string_view words) { console.complain(words); },
      [&](std::size_t done, std::size_t total, std::uint64_t bytes) { console.progress(done, total, bytes); }};
  const auto run = judge_run(*path, {}, {}, listener);
  console.hide_progress();
  if (!run) return console.say(run.error().message), kNotRead;
  const History& history = run->history;
  const auto measured = first_measured(history);
  const auto value = arguments.value.empty() ? measured : heat_value_from(arguments.value);
  if (!value) return console.say(*path + ": has no l2norm, max, min and avg, and there is nothing to draw"), kNotRead;
  choice.value = *value;
  std::unordered_set<std::uint32_t> known;
  for (const HistorySeries& series : history.series()) {
    if (history.op_name(series.tensor).find(arguments.name) == std::string_view::npos) continue;
    if (known.insert(series.tensor).second) choice.tensors.push_back(series.tensor);
  }
  if (choice.tensors.empty()) {
    return console.say("--name: no tensor has '" + arguments.name + "' in its name"), kUsage;
  }
  if (choice.rank && std::ranges::count(history.ranks(), *choice.rank) == 0)
    return console.say("--rank: no row is of rank " + std::to_string(*choice.rank)), kUsage;
  const auto screen = screen_of(STDOUT_FILENO);
  const bool has_color = wants_color(arguments.color, true, screen.has_value());
  const TrendLook look{.columns = screen ? std::max<std::size_t>(screen->columns, 40) : 80,
                       .rows = screen ? std::max<std::size_t>(screen->rows, 12) : 24,
                       .palette = palette_of_terminal(has_color)};
  int exit = run->findings.is_clean() ? kDone : kFound;
  if (!run->findings.faults.empty()) exit = kNotRead;
  return write_out("", trend_picture(history, run->findings, std::move(choice), look), exit, console);
}

}  // namespace

Subcommand trend_command(App command) {
  const auto arguments = std::make_shared<TrendArguments>();
  App trend = command.add_subcommand(
      "trend",
      "Draw a run in the terminal: a map of tensors by iterations, and bars of the loss and of what was found");
  trend.add_option("DUMP", arguments->path, "A statistic.csv, a dump's folder, or a store").type_name("").required();
  trend.add_option("--run", arguments->run, "The run, if DUMP is a store").type_name("NAME");
  trend
      .add_option("--value", arguments->value,
                  "l2norm, absmax, max, min or avg; by default the first that was measured")
      .one_of({"l2norm", "absmax", "max", "min", "avg"})
      .type_name("STATISTIC");
  trend.add_option("--rank", arguments->rank, "Only this rank; by default the worst of all is drawn").type_name("RANK");
  trend.add_option("--name", arguments->name, "Only tensors with this in their name, such as layers.6")
      .type_name("TEXT");
  trend.add_option("--iterations", arguments->iterations, "Only these, such as 120..180").type_name("FIRST..LAST");
  add_choice(trend, "--color", arguments->color,
             Choices<Color>{{"auto", Color::kAuto}, {"always", Color::kAlways}, {"never", Color::kNever}},
             "auto: colours on a terminal, unless NO_COLOR is set; always; never")
      .type_name("WHEN");
  trend.footer(
      "Each cell shows the worst that it covers: NaN, Inf, else the greatest change against the tensor's own past, "
      "the\n"
      "median of its values that are more than 50 iterations old. So no fault is lost where many tensors share a "
      "cell.\n\n"
      "Examples:\n"
      "  tensorstat trend dump\n"
      "  tensorstat trend dump --name layers.6 --iterations 880..940\n"
      "  watch --color tensorstat trend dump --color always     again and again\n\n"
      "Exit status: 0 nothing found; 1 a rule of `tensorstat report` found something; 2 wrong usage; 3 some input "
      "could "
      "not be read; 5 the output could not be written.");
  return {trend, [arguments](Console& console) { return run_trend(*arguments, console); }};
}

}  // namespace tensorstat::cli
