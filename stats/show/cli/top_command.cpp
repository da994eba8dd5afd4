// `tensorstat top` shows a run while it is written, full screen, and can wait until something happens.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "stats/answer/findings/live_run.hpp"
#include "stats/core/base/joined_key.hpp"
#include "stats/core/base/printable.hpp"
#include "stats/data/rows/names/dump_place.hpp"
#include "stats/data/rules/comparison.hpp"
#include "stats/data/rules/rule_series.hpp"
#include "stats/show/cli/exit_status.hpp"
#include "stats/show/cli/inputs.hpp"
#include "stats/show/cli/options/options.hpp"
#include "stats/show/cli/report/output.hpp"
#include "stats/show/cli/subcommand.hpp"
#include "stats/show/cli/top/terminal.hpp"
#include "stats/show/cli/top/top_screen.hpp"

namespace tensorstat::cli {
namespace {

using std::chrono::milliseconds;

struct TopArguments {
  std::string path, run, until;
  std::vector<std::string> limits;  // "jump=20"
  bool is_once = false;
};

// The conditions of --until: findings by their rules' names, and rows that meet a rule.
struct Until {
  std::vector<FindingRule> findings;
  RuleSeries rows{{}};
  bool is_empty() const { return findings.empty() && rows.rules().empty(); }
};

// Parts between commas, but for commas between quotes or in parentheses.
std::vector<std::string> parts_of_list(const std::string& text) {
  std::vector<std::string> parts(1);
  char quote = 0;
  int depth = 0;
  for (const char each : text) {
    if (quote == 0) depth += (each == '(') - (each == ')');
    if (each == ',' && quote == 0 && depth <= 0) {
      parts.emplace_back();
      continue;
    }
    if (quote == 0 && (each == '"' || each == '\'')) {
      quote = each;
    } else if (quote == each) {
      quote = 0;
    }
    parts.back() += each;
  }
  return parts;
}

Result<Until> until_from(const std::string& text) {
  constexpr const char* kBlanks = " \t";
  Until until;
  if (text.empty()) return until;
  std::vector<Rule> rules;
  for (const std::string& each : parts_of_list(text)) {
    const std::size_t begin = std::min(each.find_first_not_of(kBlanks), each.size());
    const std::string part = each.substr(begin, each.find_last_not_of(kBlanks) + 1 - begin);
    if (const auto rule = finding_rule_from(part)) {
      until.findings.push_back(*rule);
      continue;
    }
    auto rule = Rule::parse(part, About::kTensors, Earlier::kKept);
    if (!rule) {
      std::string names;
      for (const FindingRuleFacts& known : kFindingRules)
        names += (names.empty() ? "" : ", ") + std::string(known.name);
      return Error{Code::kInvalid, "--until: '" + printable(part) + "' is no finding (" + names +
                                       "), and as a rule on rows: " + rule.error().message};
    }
    rules.push_back(*std::move(rule));
  }
  until.rows = RuleSeries(std::move(rules));
  return until;
}

class Top {
 public:
  Top(const TopArguments& arguments, Until until, const FindingLimits& limits, Console& console)
      : arguments_(arguments), until_(std::move(until)), console_(console), run_(arguments.path, limits) {}

  int run() {
    std::unique_ptr<Terminal> terminal;
    if (!arguments_.is_once) terminal = Terminal::open();
    const bool has_screen = screen_of(STDOUT_FILENO).has_value();
    top::TopScreen screen(arguments_.path, run_, wants_color(Color::kAuto, true, has_screen), has_screen);
    if (terminal) terminal->show(screen.frame(terminal->size()));
    const bool is_once = arguments_.is_once || (!terminal && until_.is_empty());
    auto next_look = std::chrono::steady_clock::now();
    while (true) {
      if (!screen.is_paused() && std::chrono::steady_clock::now() >= next_look) {
        look(screen, terminal != nullptr);
        if (const std::string missing = missing_statistics(); !missing.empty()) {
          terminal.reset();
          return console_.say("--until: the rows do not have " + missing), kNotRead;
        }
        next_look = std::chrono::steady_clock::now() + run_.pause();
      }
      if (run_.is_due() || (is_once && !run_.is_judged())) run_.judge();
      if (happened(is_once)) {
        terminal.reset();
        return write_out("", happened_, kFound, console_);
      }
      if (is_once) return print(screen);
      if (!terminal) {
        std::this_thread::sleep_for(run_.pause());
        continue;
      }
      terminal->show(screen.frame(terminal->size()));
      const auto patience = std::chrono::duration_cast<milliseconds>(next_look - std::chrono::steady_clock::now());
      Key key = terminal->key(std::clamp(patience, milliseconds(10), milliseconds(1000)));
      for (; key.name != KeyName::kNone; key = terminal->key(milliseconds(0))) {
        if (!screen.press(key)) return kDone;
      }
    }
  }

 private:
  void look(top::TopScreen& screen, bool has_terminal) {
    LiveRun::EachNewRow each;
    if (!until_.rows.rules().empty())
      each = [&](const Row& row, const std::string& path, const HistoryPlace& place) {
        ask(row, path, place);
        return Status();
      };
    const LiveRun::News news = run_.look(each);
    if (news.begins_again) screen.say("the dump was replaced; it is read again");
    for (const std::string& fault : news.faults) {
      if (has_terminal) {
        screen.say(fault);
      } else {
        console_.say(fault);
      }
    }
  }

  // Statistics that rules of --until need, and that no row has had so far.
  std::string missing_statistics() const {
    std::string names;
    if (run_.history().row_count() == 0) return names;
    for (const Rule& rule : until_.rows.rules()) {
      for (const Category category : rule.needed(false)) {
        if (!seen_.contains(category)) names += (names.empty() ? "" : ", ") + std::string(name(category));
      }
    }
    return names;
  }

  // Whether a row meets a rule of --until.
  void ask(const Row& row, const std::string& path, const HistoryPlace& place) {
    if (!happened_.empty()) return;
    TensorRow asked{path, std::nullopt, row};
    const Statistics& statistics = asked.row.statistics;
    add_absmax(asked.row.statistics);
    seen_.insert(statistics.categories.begin(), statistics.categories.end());
    add_place(path, DumpPlace{.rank = place.rank, .graph = place.graph, .iteration = place.iteration},
              asked.row.identity);
    const Identity& identity = row.identity;
    const std::string where = printable(identity.op_name) + " " + identity.io + " " + std::to_string(identity.slot);
    std::string tensor = joined_key(identity.op_type, identity.op_name, identity.io);
    for (const std::uint64_t number : {identity.slot, std::uint64_t{place.rank}, std::uint64_t{place.graph}}) {
      append_key(tensor, number);
    }
    const auto met = until_.rows.ask(asked, tensor, place.iteration);
    if (!met) return;
    happened_ = printable(met->rule->text()) + "  iteration " + std::to_string(place.iteration) + ", rank " +
                std::to_string(place.rank) + ": " + where + (met->evidence.empty() ? "" : ": " + met->evidence) + "\n";
  }

  // Whether what --until waits for has happened; then happened_ says what.
  bool happened(bool is_last_look) {
    if (!happened_.empty()) return true;
    for (const Finding& finding : run_.findings().list) {
      if (std::ranges::find(until_.findings, finding.rule) == until_.findings.end()) continue;
      if (!is_last_look && !run_.is_settled(finding)) continue;
      happened_ = std::string(facts(finding.rule).name) + "  iteration " + std::to_string(finding.first_iteration) +
                  ", rank " + std::to_string(finding.rank) + ": " + printable(finding.text) +
                  "\nnext: " + printable(finding.next) + "\n";
      return true;
    }
    return false;
  }

  int print(top::TopScreen& screen) {
    if (run_.history().row_count() == 0) {
      console_.say(printable(arguments_.path) +
                   (run_.is_waiting() ? ": there is no such file or folder" : ": holds no rows of statistics"));
      return kNotRead;
    }
    std::string text;
    for (std::string& line : screen.frame(screen_of(STDOUT_FILENO).value_or(Screen{}))) {
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + "\n";
    }
    return write_out("", text, kDone, console_);
  }

  const TopArguments& arguments_;
  Until until_;
  Console& console_;
  LiveRun run_;
  std::set<Category> seen_;
  std::string happened_;
};

int run_top(TopArguments arguments, Console& console) {
  const auto path = path_of_run(arguments.path, arguments.run);
  if (!path) return console.say(path.error().message), kUsage;
  arguments.path = *path;
  auto until = until_from(arguments.until);
  if (!until) return console.say(until.error().message), kUsage;
  const auto limits = finding_limits_from(joined_words(arguments.limits, ","));
  if (!limits) return console.say("--limit: " + limits.error().message), kUsage;
  return Top(arguments, *std::move(until), *limits, console).run();
}

}  // namespace

Subcommand top_command(App command) {
  const auto arguments = std::make_shared<TopArguments>();
  App top = command.add_subcommand("top", "Watch a run while it is written: findings, tensors and ranks, full screen");
  top.add_option("DUMP", arguments->path, "A statistic.csv, a dump's folder, or a store; it may be made later")
      .type_name("")
      .required();
  top.add_option("--run", arguments->run, "The run, if DUMP is a store").type_name("NAME");
  top.add_flag("--once", arguments->is_once, "Print one screen and end; the default where stdout is no terminal");
  top.add_option("--until", arguments->until,
                 "End with status 1 and print it when one of these happens: findings by their rules' names, and rules "
                 "on rows as in --where and alerts, between commas; without a terminal it waits silently")
      .type_name("LIST");
  top.add_option("--limit", arguments->limits, "Another limit for a rule, such as jump=20; may be repeated")
      .type_name("RULE=NUMBER");
  top.footer(
      "Examples:\n"
      "  tensorstat top dump                              q leaves, ? lists the keys\n"
      "  tensorstat top dump --until nan || scancel $JOB  end a job that is lost\n"
      "  tensorstat top dump --until 'nan,jump,absmax > 60000 and dtype == float16'\n"
      "  tensorstat top dump --until 'l2norm > 8 * median(l2norm, 50)'\n"
      "  watch -n 10 tensorstat top dump --once\n\n"
      "It asks for new rows up to four times a second, and less often if that takes long. It has the findings of "
      "`tensorstat report`. nan and inf wait for two more iterations, or for 5 seconds without rows.\n\n"
      "Exit status: 0 the user left; 1 --until happened; 2 wrong usage; 3 nothing could be read; 5 the output could "
      "not be written.");
  return {top, [arguments](Console& console) { return run_top(*arguments, console); }};
}

}  // namespace tensorstat::cli
