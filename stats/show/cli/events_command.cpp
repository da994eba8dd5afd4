// `tensorstat events` lists the alerts of a run, and writes the last steps of a process that died as a dump.

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "stats/core/base/printable.hpp"
#include "stats/data/files/io/folders.hpp"
#include "stats/data/files/io/text_lines.hpp"
#include "stats/data/files/io/whole_file.hpp"
#include "stats/job/alerts/alert_line.hpp"
#include "stats/job/alerts/kept_steps.hpp"
#include "stats/show/cli/exit_status.hpp"
#include "stats/show/cli/report/output.hpp"
#include "stats/show/cli/subcommand.hpp"

namespace tensorstat::cli {
namespace {

constexpr int kMostEventLevels = 4;  // of folders around a run's rank
constexpr std::size_t kMostAlertBytes = std::size_t{64} << 20;

struct EventsArguments {
  std::string path;
  bool writes_all = false, only_lists = false;
};

struct EventFiles {
  std::vector<std::string> rings, alerts;
  std::vector<Error> faults;
};

void find_event_files(const std::string& folder, int level, EventFiles& files) {
  for (const FolderEntry& entry : entries_of(folder, files.faults)) {
    const std::string name = std::filesystem::path(entry.path).filename();
    if (entry.is_folder && !name.starts_with("event_") && level < kMostEventLevels) {
      find_event_files(entry.path, level + 1, files);
    }
    if (!entry.is_folder && name.ends_with(".ring")) files.rings.push_back(entry.path);
    if (!entry.is_folder && name == "alerts.ndjson") files.alerts.push_back(entry.path);
  }
}

// The dump that a ring belongs to: {dump}/rank_{rank}/last_steps.ring, or {dump}/last_steps.ring.
std::string dump_of(const std::string& ring, std::uint32_t rank) {
  const std::filesystem::path folder = std::filesystem::path(ring).parent_path();
  return folder.filename() == "rank_" + std::to_string(rank) ? folder.parent_path() : folder;
}

std::string steps_of(const KeptSteps& kept) {
  const KeptStep& last = kept.steps.back();
  std::string text = kept.steps.size() == 1 ? "step " + std::to_string(last.step) + " is kept"
                                            : "steps " + std::to_string(kept.steps.front().step) + " to " +
                                                  std::to_string(last.step) + " are kept";
  if (!last.is_whole) text += ", the last one up to row " + std::to_string(last.rows.size());
  for (const KeptStep& step : kept.steps) {
    if (step.lost_row_count != 0) {
      text += "; step " + std::to_string(step.step) + " lacks " + std::to_string(step.lost_row_count) +
              " rows that found no room";
    }
    if (step.is_damaged) text += "; step " + std::to_string(step.step) + " is damaged behind its rows";
  }
  return text;
}

// {dump}/event_{step}, or event_{step}_2 and so on if a ring before had the same rank and step: two processes may have
// taken themselves for one rank.
std::string event_of(const std::string& dump, const KeptSteps& kept, std::set<std::string>& written) {
  const std::string first = dump + "/event_" + std::to_string(kept.steps.back().step);
  std::string folder = first;
  for (int number = 2; !written.insert(folder + "/rank_" + std::to_string(kept.rank)).second; ++number) {
    folder = first + "_" + std::to_string(number);
  }
  return folder;
}

// Reports one ring. Writes its steps if the process died, or if all are wanted.
int tell_ring(const std::string& path, const EventsArguments& arguments, std::set<std::string>& events,
              std::string& text, Console& console) {
  const auto kept = read_ring_file(path);
  if (!kept) return console.say(kept.error().message), kNotRead;
  const bool has_died = !kept->is_closed && !kept->is_written_now;
  text += printable(path) + ": process " + std::to_string(kept->process) +
          (kept->is_written_now ? " is running"
           : has_died           ? " died"
                                : " ended the run");
  if (kept->steps.empty()) return text += "; no step is kept\n", has_died ? kFound : kDone;
  text += "; " + steps_of(*kept) + '\n';
  if (arguments.only_lists || !(has_died || arguments.writes_all)) return has_died ? kFound : kDone;
  const std::string dump = dump_of(path, kept->rank);
  const std::string folder = event_of(dump, *kept, events);
  const std::string journal = read_journal(journal_below(dump, kept->rank, kept->about.net_name));
  remove_event_rows(folder, kept->rank);
  std::uint64_t room = std::numeric_limits<std::uint64_t>::max();
  const auto written = write_event(*kept, journal, folder, room);
  if (!written) return console.say(written.error().message), kNotWritten;
  text += "  written to " + printable(folder) + "\n";
  return has_died ? kFound : kDone;
}

int tell_alerts(const std::string& path, std::string& text, Console& console) {
  const auto lines = read_whole_file(path, kMostAlertBytes);
  if (!lines) return console.say(lines.error().message), kNotRead;
  text += printable(path) + ":\n";
  int exit = kDone;
  std::size_t number = 0;
  for (std::string_view rest = *lines; !rest.empty();) {
    const auto alert = alert_from(take_line(rest));
    ++number;
    if (!alert) {
      std::string why = alert.error().message;
      if (constexpr std::string_view kOnlyLine = "line 1, "; why.starts_with(kOnlyLine)) why.erase(0, kOnlyLine.size());
      console.say(printable(path) + ", line " + std::to_string(number) + ": is no alert: " + why);
      exit = kNotRead;
      continue;
    }
    text += "  " + printable(to_sentence(*alert)) + '\n';
    exit = std::max<int>(exit, kFound);
  }
  return exit;
}

int run_events(const EventsArguments& arguments, Console& console) {
  EventFiles files;
  find_event_files(arguments.path, 0, files);
  for (const Error& fault : files.faults) console.complain(fault.message);
  int exit = files.faults.empty() ? kDone : kNotRead;
  if (files.rings.empty() && files.alerts.empty()) {
    if (files.faults.empty()) console.say(arguments.path + ": has no alerts and no kept steps");
    return exit;
  }
  std::string text;
  for (const std::string& path : files.alerts) exit = std::max(exit, tell_alerts(path, text, console));
  std::set<std::string> events;
  for (const std::string& path : files.rings) exit = std::max(exit, tell_ring(path, arguments, events, text, console));
  return write_out("", text, exit, console);
}

}  // namespace

Subcommand events_command(App command) {
  const auto arguments = std::make_shared<EventsArguments>();
  App events = command.add_subcommand(
      "events", "List the alerts of a run, and write the last steps of a process that died as a dump");
  events.add_option("FOLDER", arguments->path, "The path of a run that had alerts or keep").type_name("").required();
  events.add_flag("--write", arguments->writes_all, "Write the kept steps also if the run has ended or goes on");
  events.add_flag("--list", arguments->only_lists, "Write nothing").excludes("--write");
  events.footer(
      "With keep=20, watch() writes no rows. Those of the last 20 steps stand in rank_0/last_steps.ring, which is "
      "readable\n"
      "after any death of the process: an exception, a segmentation fault, kill -9, no memory. `events` writes them "
      "to\n"
      "FOLDER/event_STEP, named by the last step, as an ordinary dump.\n\n"
      "Examples:\n"
      "  tensorstat events runs/a\n"
      "  tensorstat origin runs/a/event_812     where NaN or Inf began in these steps\n"
      "  tensorstat report runs/a/event_812 -o page.html\n\n"
      "Exit status: 0 no alert, and no process died; 1 an alert, or a process that died; 2 wrong usage; 3 some input\n"
      "could not be read; 5 the steps could not be written.");
  return {events, [arguments](Console& console) { return run_events(*arguments, console); }};
}

}  // namespace tensorstat::cli
