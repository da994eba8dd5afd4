// `tensorstat attach` runs any OpenCL program with the layer of stats/job/attach/ between it and its driver, and says
// at its end which kernel made the first NaN.

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "stats/answer/origin/run_search.hpp"
#include "stats/core/base/joined_key.hpp"
#include "stats/core/base/printable.hpp"
#include "stats/data/files/io/text_lines.hpp"
#include "stats/data/files/io/whole_file.hpp"
#include "stats/data/json/json_text.hpp"
#include "stats/data/survey/row_files.hpp"
#include "stats/job/attach/settings.hpp"
#include "stats/job/attach/tally.hpp"
#include "stats/show/cli/exit_status.hpp"
#include "stats/show/cli/layer_file.hpp"
#include "stats/show/cli/options/options.hpp"
#include "stats/show/cli/report/fault_count.hpp"
#include "stats/show/cli/report/report_diff.hpp"
#include "stats/show/cli/subcommand.hpp"

extern char** environ;

namespace tensorstat::cli {
namespace {

namespace fs = std::filesystem;

struct AttachArguments {
  std::string output, kernels, launches, every, statistics, types, fail_on;
  bool poison = false, refuse_binaries = false;
  std::vector<std::string> program;
};

// As shells have it: 127 where the program is not found, 126 where it cannot be run.
enum Shell : int { kCannotRun = 126, kNotFound = 127, kSignal = 128 };

std::string settings_text(const AttachArguments& arguments) {
  std::string text;
  const auto add = [&](std::string_view word, const std::string& value) {
    if (!value.empty()) text.append(text.empty() ? "" : ",").append(word).append("=").append(attach::as_value(value));
  };
  add("out", fs::absolute(arguments.output).lexically_normal().string());
  add("kernels", arguments.kernels);
  add("launches", arguments.launches);
  add("every", arguments.every);
  add("stats", arguments.statistics);
  add("types", arguments.types.empty() ? "" : fs::absolute(arguments.types).string());
  add("poison", arguments.poison ? "1" : "");
  add("binaries", arguments.refuse_binaries ? "refuse" : "");
  return text;
}

// Set unless the user has: caches of PyOpenCL and OpenCV hold binaries, which do not say what the source calls a type.
constexpr std::string_view kWithoutCaches[] = {"PYOPENCL_NO_CACHE=1", "OPENCV_OPENCL_CACHE_ENABLE=0"};

// This process's environment, and what the program's OpenCL loader needs.
std::vector<std::string> environment_with(const std::string& layer, const std::string& settings) {
  std::vector<std::string> all;
  std::string layers;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view entry = *each;
    if (entry.starts_with("OPENCL_LAYERS=")) {
      layers = entry.substr(entry.find('=') + 1);
    } else if (!entry.starts_with(std::string(attach::kVariable) + "=")) {
      all.emplace_back(entry);
    }
  }
  // The program of an `attach` that another `attach` runs: one layer does not stand in front of itself.
  if ((":" + layers + ":").find(":" + layer + ":") == std::string::npos) layers += (layers.empty() ? "" : ":") + layer;
  all.push_back("OPENCL_LAYERS=" + layers);
  all.push_back(std::string(attach::kVariable) + "=" + settings);
  for (const std::string_view each : kWithoutCaches) {
    if (std::getenv(std::string(each.substr(0, each.find('='))).c_str()) == nullptr) all.emplace_back(each);
  }
  return all;
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

std::atomic<pid_t> running{0};

// Runs the program as a shell would and returns its exit status. Passes signals to end on to it; signals of the
// terminal reach it anyway.
Result<int> run_program(const AttachArguments& arguments, const std::vector<std::string>& environment) {
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t reset;
  sigemptyset(&reset);
  for (const int each : {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE}) sigaddset(&reset, each);
  posix_spawnattr_setsigdefault(&attributes, &reset);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  const auto pass_on = [](int signal) {
    if (const pid_t child = running) kill(child, signal);
  };
  signal(SIGINT, SIG_IGN);
  signal(SIGQUIT, SIG_IGN);
  signal(SIGTERM, pass_on);
  signal(SIGHUP, pass_on);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, arguments.program[0].c_str(), nullptr, &attributes,
                                  pointers_to(arguments.program).data(), pointers_to(environment).data());
  posix_spawnattr_destroy(&attributes);
  if (failed != 0) {
    return Error{failed == ENOENT ? Code::kUnreadable : Code::kInvalid,
                 printable(arguments.program[0]) + ": " + std::strerror(failed)};
  }
  running = child;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  running = 0;
  return WIFSIGNALED(status) ? kSignal + WTERMSIG(status) : WEXITSTATUS(status);
}

void say_verdict(const std::string& output, Console& console) {
  const auto failed = [&](std::string_view words) { console.say(words); };
  const auto run = search_run(output, {}, {failed, [](std::size_t, std::size_t, std::uint64_t) {}}, {});
  if (!run) return;  // no rows
  const FaultVerdict& verdict = run->answer.verdict;
  if (verdict.kind == FaultKind::kNone) return;
  console.say(verdict.sentence);
  for (const std::string& detail : verdict.details) console.say("  " + detail);
}

// Who read memory that nobody wrote, as --poison found it.
void say_poisoned(const std::string& output, Console& console) {
  constexpr std::size_t kMostBytes = std::size_t{64} << 20, kMostLaunches = 10;
  std::size_t count = 0;
  std::error_code failed;
  for (const auto& rank : fs::directory_iterator(output, failed)) {
    const auto file = read_whole_file((rank.path() / "attach" / "watch.ndjson").string(), kMostBytes);
    std::string_view text = file ? std::string_view(*file) : std::string_view();
    while (!text.empty()) {
      const auto line = parse_json(take_line(text));
      const auto member = [&](std::string_view key) {
        const auto value = line ? line->root().find(key) : std::nullopt;
        return value && value->is(JsonDocument::Kind::kString) ? std::string(value->text()) : std::string();
      };
      if (member("kind") != "poisoned" || ++count > kMostLaunches) continue;
      console.say(member("op_name") + " read memory that nobody wrote: " + member("what"));
    }
  }
  if (count > kMostLaunches) console.say("and " + counted_noun(count - kMostLaunches, "more launch") + " did");
}

bool is_any_met(const std::string& output, const std::vector<Rule>& rules, Console& console) {
  std::vector<Error> faults;
  FaultCount counted(rules);
  std::uint64_t step = 0;
  for (const RowFile& file : find_row_files({output}, faults)) {
    const auto read = read_rows_of_file(file.path, [&](Row&& row) {
      TensorRow entry{.path = row.identity.op_name,
                      .tensor = row.identity.io + "." + std::to_string(row.identity.slot),
                      .row = std::move(row)};
      // An argument's earlier rows come from the kernel's earlier launches in the same context.
      counted.add(entry, joined_key(file.path, entry.row.identity.op_type, *entry.tensor), step++);
      return Status();
    });
    if (!read) console.complain(read.error().message);
  }
  if (counted.any()) console.say(counted.words());
  return counted.any();
}

std::string counted(std::uint64_t count, std::string_view noun) {
  return grouped(count) + " " + std::string(noun) + (count == 1 ? "" : noun.ends_with("ch") ? "es" : "s");
}

// The counts of measured and skipped arguments.
std::string last_line(const attach::Total& total, const std::string& output) {
  std::string text = counted(total.launches, "launch") + ", " + counted(total.measured, "argument") + " measured, " +
                     grouped(total.not_understood) + " not understood";
  const auto add = [&](std::uint64_t count, std::string_view words) {
    if (count != 0) text += ", " + grouped(count) + " " + std::string(words);
  };
  add(total.left_out, "left out");
  if (total.left_out != 0 && !total.reason.empty()) text += " (" + printable(total.reason) + ")";
  add(total.images, "images or pipes not measured");
  add(total.unknown_memory, "in memory of extensions (such as USM) not measured");
  add(total.scratch, "held only what nobody wrote");
  add(total.lost_rows, "rows lost");
  if (total.unknown_commands != 0) {
    text += ", command buffers not followed (they are mutable, or the driver has another version of their functions)";
  }
  return text + "; " + printable(output);
}

// An `attach` that runs this one measures nothing: it is to say where the rows are.
constexpr std::size_t kMostPath = std::size_t{1} << 16;
std::string inner_file(const std::string& output) { return output + "/.attach/inner"; }
void tell_outer_attach(const std::string& output) {
  const char* const text = std::getenv(attach::kVariable);
  const auto outer = attach::Settings::from(text == nullptr ? "" : text);
  if (!outer || outer->out == fs::absolute(output)) return;
  std::error_code failed;
  fs::create_directories(outer->out + "/.attach", failed);
  std::ofstream(inner_file(outer->out)) << fs::absolute(output).lexically_normal().string();
}

int run_attach(AttachArguments arguments, Console& console) {
  const std::string text = settings_text(arguments);
  if (const auto settings = attach::Settings::from(text); !settings) {
    return console.say("--" + settings.error().message), kUsage;
  }
  std::vector<Rule> rules;
  if (!arguments.fail_on.empty()) {
    auto parsed = Rule::parse_list(arguments.fail_on, Earlier::kKept);
    if (!parsed) return console.say("--fail-on: " + parsed.error().message), kUsage;
    rules = *std::move(parsed);
  }
  std::error_code failed;
  if (fs::exists(arguments.output, failed) && !fs::is_empty(arguments.output, failed)) {
    return console.say(printable(arguments.output) + " holds something already. Choose another folder with -o."),
           kUsage;
  }
  fs::create_directories(arguments.output, failed);
  if (failed) return console.say(printable(arguments.output) + ": " + failed.message()), kNotWritten;
  const auto layer = find_layer();
  if (!layer) return console.say(layer.error().message), kUsage;

  tell_outer_attach(arguments.output);
  const auto status = run_program(arguments, environment_with(*layer, text));
  if (!status) {
    console.say(status.error().message);
    return status.error().code == Code::kUnreadable ? kNotFound : kCannotRun;
  }
  const auto total = attach::read_tallies(arguments.output);
  if (!total) {
    if (const auto inner = read_whole_file(inner_file(arguments.output), kMostPath)) {
      return console.say("the program runs `tensorstat attach` itself; its rows are in " + printable(*inner)), *status;
    }
    console.say(
        "the program did not load OpenCL through the ICD loader, so nothing was measured: it uses no OpenCL, or a "
        "driver directly, or another libOpenCL, or it is set-user-ID");
    return *status;
  }
  say_verdict(arguments.output, console);
  if (arguments.poison) say_poisoned(arguments.output, console);
  const bool is_found = !rules.empty() && is_any_met(arguments.output, rules, console);
  console.say(last_line(*total, arguments.output));
  return is_found ? kFound : *status;
}

}  // namespace

Subcommand attach_command(App command) {
  const auto arguments = std::make_shared<AttachArguments>();
  arguments->output = "tensorstat-attach";
  std::vector<std::string> statistics;
  for (const Category category : every_category()) statistics.emplace_back(name(category));
  App attach = command.add_subcommand(
      "attach",
      "Run an OpenCL program as it is, measure the arguments of its kernels, and name the kernel that made NaN");
  attach
      .add_option("-o,--output", arguments->output,
                  "The folder for the rows, which must be new or empty; by default tensorstat-attach")
      .check(names_output())
      .type_name("DUMP");
  attach.add_option("--kernels", arguments->kernels, "Only kernels with names that match this pattern in whole")
      .type_name("REGEX");
  attach.add_option("--launches", arguments->launches, "Only launches of these numbers, counted from 0")
      .type_name("A-B");
  attach.add_option("--every", arguments->every, "Only each N-th launch of a kernel").type_name("N");
  attach
      .add_option("--stats", arguments->statistics,
                  "The statistics, separated by commas; by default max, min, avg, l2norm, counts of NaN "
                  "and Inf, and the first of them")
      .type_name("LIST")
      .suggest_list(statistics);
  attach
      .add_option("--fail-on", arguments->fail_on,
                  "End with exit status 1 if an argument meets one of these conditions, e.g. nan,inf")
      .type_name("LIST");
  attach
      .add_option("--types", arguments->types,
                  "Lines of KERNEL.ARGUMENT = DTYPE for arguments that are declared as bytes; both are patterns")
      .type_name("FILE");
  attach.add_flag("--poison", arguments->poison,
                  "Fill new buffers with a NaN of its own, and name who reads memory that nobody wrote");
  attach.add_flag("--refuse-binaries", arguments->refuse_binaries,
                  "Refuse programs from binaries, so that the program compiles its source, which names the types");
  attach.add_option("PROGRAM", arguments->program, "The program and its arguments, behind --")
      .type_name("ARGS...")
      .required();
  attach.positionals_at_end();
  attach.footer(
      "Examples:\n"
      "  tensorstat attach -- python3 model.py                     which kernel made the first NaN\n"
      "  tensorstat attach -o a -- ./solver; tensorstat diff a b --first\n"
      "  tensorstat attach --kernels 'gemm.*' --fail-on nan,inf -- ./test\n\n"
      "The program is not changed and never waits for a measurement. Each launch of a kernel is an operator: its type "
      "is the kernel's name, its name kernel#launch, its inputs and outputs are the arguments by their index. origin, "
      "diff, report and --where read the folder. stats/doc/attach.md has the rules and the limits.\n\n"
      "Exit status: the program's, 128 + N if signal N ended it; 1 if a condition of --fail-on is met; 2 wrong "
      "usage; 126 or 127 if it cannot be run or is not found.");
  return {attach, [arguments](Console& console) { return run_attach(*arguments, console); }};
}

}  // namespace tensorstat::cli
