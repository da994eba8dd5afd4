// The `tensorstat` command: reads arguments and writes tables. It has no arithmetic.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <functional>
#include <new>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <tensorstat/meter.hpp>
#include <variant>

#include "stats/answer/store/store.hpp"
#include "stats/core/base/printable.hpp"
#include "stats/data/files/file_kind.hpp"
#include "stats/data/files/io/mapped_file.hpp"
#include "stats/data/files/stream_source.hpp"
#include "stats/data/survey/row_files.hpp"
#include "stats/data/survey/survey.hpp"
#include "stats/show/cli/devices_command.hpp"
#include "stats/show/cli/inputs.hpp"
#include "stats/show/cli/options/command_line.hpp"
#include "stats/show/cli/read_status.hpp"
#include "stats/show/cli/report/outcome.hpp"
#include "stats/show/cli/report/output.hpp"
#include "stats/show/cli/report/report.hpp"
#include "stats/show/cli/report/results.hpp"
#include "stats/show/cli/report/written_rows.hpp"
#include "stats/show/cli/terminal/console.hpp"

namespace tensorstat::cli {
namespace {

// The reader of the results has closed the pipe: stop.
struct NotWritten : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The files of folders that no format reads: some of them, or with --verbose all. Those that hold tensors come first.
// Returns whether there are such, which are said under --quiet, too.
bool say_what_was_left(std::vector<std::string> left, const Arguments& arguments, Console& console) {
  const bool is_verbose = arguments.is_verbose;
  const auto has_tensors = [](const std::string& path) { return kind_of_file(path).holds_tensors; };
  const auto others =
      std::stable_partition(left.begin(), left.end(), has_tensors);  // clang 15 cannot read that of std::ranges
  const bool is_missed = others != left.begin();
  if (arguments.is_quiet) left.erase(others, left.end());
  if (left.empty()) return false;
  const std::size_t shown = is_verbose ? left.size() : std::min<std::size_t>(left.size(), 3);
  std::string names;
  for (std::size_t i = 0; i < shown; ++i) {
    const std::string name = is_verbose ? left[i] : left[i].substr(left[i].rfind('/') + 1);
    names.append(i == 0 ? "" : ", ").append(printable(name));
    if (const FileKind kind = kind_of_file(left[i]); !kind.what.empty()) names.append(" (").append(kind.what) += ")";
  }
  if (shown < left.size()) names += " and " + std::to_string(left.size() - shown) + " more";
  console.say(std::to_string(left.size()) + (left.size() == 1 ? " file" : " files") + " not read: " + names +
              (is_verbose ? "" : " (--verbose)"));
  return is_missed;
}

constexpr std::chrono::milliseconds kMostDelay{50};  // a row of a file waits this long to be written with others

// Reads, measures and reports. Flushes the rows before it waits for more of a stream.
Outcome report_on(const Arguments& arguments, const Inputs& inputs, Console& console, const Results::Write& write,
                  const std::function<void()>& flush) {
  MeterOptions options = arguments.meter;
  options.log = log_to(console, arguments.explain || arguments.is_verbose);
  Meter meter(std::move(options));
  Results results(arguments, inputs.files, look_of(arguments.color, arguments.output), console, write);
  Outcome outcome;
  const auto fail = [&](int status) {
    return [&, status](const Error& error) {
      console.complain(error.message);
      outcome.exit = std::max(outcome.exit, status);
    };
  };
  Survey::Listener listener;
  listener.measured = [&](SurveyedTensor&& entry) { results.add(std::move(entry)); };
  listener.line = results.line();
  listener.unreadable = [&](const Error& error) {
    if (status_of(error) != kDone || !arguments.is_quiet) console.complain(error.message);
    outcome.exit = std::max<int>(outcome.exit, status_of(error));
  };
  Unmeasured unmeasured(console);
  listener.unmeasured = [&](const std::string& label, const Error& error) {
    outcome.exit = std::max<int>(outcome.exit, arguments.request.on == On::kDevice ? kNoDevice : kNotRead);
    unmeasured.say(label, error.message);
  };
  const bool is_live = std::ranges::any_of(arguments.paths, is_stream);
  auto flushed = std::chrono::steady_clock::now();
  listener.progressed = [&](const Survey::Progress& progress) {
    const auto now = std::chrono::steady_clock::now();
    if (is_live || now - flushed >= kMostDelay) {
      flush();
      flushed = now;
    }
    // A file that is not open yet counts as one tensor.
    if (!arguments.is_quiet)
      console.progress(progress.tensors, progress.known + inputs.files.size() - progress.files, progress.bytes);
  };

  results.begin();
  std::ranges::for_each(inputs.faults, fail(kNotRead));
  const Survey::Options reading{.void_is_bfloat16 = arguments.void_is_bfloat16,
                                .head_only = arguments.head_only,
                                .raw = arguments.raw,
                                .by = arguments.by,
                                .threads = arguments.meter.threads};
  Survey survey(meter, results.request(), reading, std::move(listener));
  const std::set<std::string_view> named(arguments.paths.begin(), arguments.paths.end());
  for (const std::string& file : inputs.files) {
    const auto wanted = inputs.tensors_of.find(file);
    survey.add(file, named.contains(file),
               wanted == inputs.tensors_of.end() ? std::vector<std::string>() : wanted->second);
  }
  survey.finish();
  unmeasured.end();
  results.end();
  outcome.has_results = results.any();
  if (results.any_found()) outcome.exit = std::max<int>(outcome.exit, kFound);
  results.say_findings();
  if (say_what_was_left(inputs.left, arguments, console)) outcome.exit = std::max<int>(outcome.exit, kNotRead);
  return outcome;
}

// The library ignores an unknown value and takes the best instruction set.
void warn_of_unknown_isa(Console& console) {
  const char* wanted = std::getenv("TENSORSTAT_ISA");
  const std::set<std::string_view> known = {"baseline", "avx2", "avx512"};
  if (wanted == nullptr || known.contains(wanted)) return;
  console.say("warning: TENSORSTAT_ISA is '" + shown(wanted) +
              "', which is none of baseline, avx2 and avx512, and is ignored");
}

int run(const Arguments& arguments, Console& console) {
  Output output(arguments.output);
  const auto write = [&](const std::string& text) {
    if (text.empty()) return;
    console.hide_progress();
    Status written = output.write(text);
    if (!written) throw NotWritten(written.error().message);
  };
  const auto flush = [&] {
    if (Status written = output.flush(); !written) throw NotWritten(written.error().message);
  };
  // Check the device now: if the host computes, nothing else would notice that it does not exist.
  if (arguments.meter.platform >= 0) {
    if (const Status status = find_named_device(arguments.meter); !status)
      return console.say(status.error().message), kNoDevice;
  }
  const Inputs inputs = find_inputs(arguments.paths, arguments.order);
  if (!arguments.is_quiet) std::ranges::for_each(inputs.notes, [&](const std::string& note) { console.say(note); });
  for (const std::vector<std::string>* some : {&inputs.files, &inputs.lists}) {
    if (Status allowed = check_is_no_input(arguments.output, *some); !allowed) {
      return console.say(allowed.error().message), kUsage;
    }
  }
  const auto are_rows = std::ranges::count_if(inputs.files, is_row_file);
  if (are_rows != 0 && static_cast<std::size_t>(are_rows) != inputs.files.size()) {
    console.say("the paths name files of rows and files of tensors; show them with one call each");
    return kUsage;
  }
  const Outcome outcome = are_rows != 0
                              ? show_rows(arguments, inputs, look_of(arguments.color, arguments.output), console, write)
                              : report_on(arguments, inputs, console, write, flush);
  flush();
  // Do not overwrite an earlier file by one without rows.
  if (outcome.exit != kDone && !outcome.has_results) return outcome.exit;
  if (Status closed = output.close(); !closed) throw NotWritten(closed.error().message);
  return outcome.exit;
}

// If the caller closed a standard descriptor, the next file opened would get its number, and messages for stderr would
// go into that file. So open "/" there: writing to it fails, and lost results are reported.
void occupy_standard_descriptors() {
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(standard, F_GETFD) >= 0) continue;
    [[maybe_unused]] const int lowest = ::open("/", O_RDONLY | O_DIRECTORY);  // the lowest free number, so `standard`
  }
}

}  // namespace
}  // namespace tensorstat::cli

int main(int argc, char** argv) {
  using namespace tensorstat::cli;
  occupy_standard_descriptors();
  std::signal(SIGXFSZ, SIG_IGN);  // without this a file size limit would end the process instead of being reported
  tensorstat::MappedFile::allow();
  Console console;
#ifdef TENSORSTAT_STORE
  tensorstat::add_row_source(tensorstat::source_of_stores());
#endif
  try {
    CommandLine line(std::span<const char* const>(argv + 1, argv + std::max(argc, 1)));
    const auto parsed = line.parse(argc, argv);
    if (const auto* exit = std::get_if<int>(&parsed)) return *exit;
    warn_of_unknown_isa(console);
    const auto* subcommand = std::get_if<Subcommand>(&parsed);
    return subcommand ? subcommand->run(console) : run(std::get<Arguments>(parsed), console);
  } catch (const std::bad_alloc&) {
    console.say("out of memory");
    return kNotWritten;
  } catch (const std::exception& error) {
    console.say(error.what());
    return kNotWritten;
  }
}
