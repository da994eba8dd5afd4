// `tensorstat fold` measures one part of a plan and writes its state.

#include <filesystem>
#include <memory>
#include <string>

#include "stats/answer/parts/part_fold.hpp"
#include "stats/answer/parts/state.hpp"
#include "stats/core/base/printable.hpp"
#include "stats/data/files/io/folders.hpp"
#include "stats/data/files/io/whole_file.hpp"
#include "stats/show/cli/devices_command.hpp"
#include "stats/show/cli/exit_status.hpp"
#include "stats/show/cli/options/options.hpp"
#include "stats/show/cli/options/plain_options.hpp"
#include "stats/show/cli/report/output.hpp"
#include "stats/show/cli/subcommand.hpp"

namespace tensorstat::cli {
namespace {

constexpr std::size_t kMostListBytes = std::size_t{1} << 30;  // larger than any list that `plan` writes

struct FoldArguments {
  PlainOptions options;
  Arguments plain;
  std::string list, output;
};

// The file that is already at the state's path.
enum class Before { kNothing, kWhole, kForeign };

Before what_is_there(const std::string& path, const PartList& list, std::string& why) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return Before::kNothing;
  const auto text = read_whole_file(path, kMostStateBytes);
  if (!text) return why = text.error().message, Before::kForeign;
  if (text->find_first_not_of('\0') == text->npos) return Before::kNothing;  // what a power failure leaves of a state
  if (!begins_as_state(*text))
    return why = printable(path) + ": is there, and is no state; name another file", Before::kForeign;
  const auto head = parse_state_head(*text);
  if (!head) return Before::kNothing;  // damaged, or of another version: folded again
  if (head->key != list.key || head->part_numbers != std::vector{list.part}) {
    why = printable(path) + ": holds part " + part_name(head->part_numbers.front(), head->parts) +
          (head->key == list.key ? "" : " of another plan") + "; remove it, or name another file";
    return Before::kForeign;
  }
  return head->faults == 0 ? Before::kWhole : Before::kNothing;
}

int run_fold(const FoldArguments& arguments, Console& console) {
  const Arguments& plain = arguments.plain;
  // "@plan/017", as the command takes lists of files
  const bool is_named = arguments.list.starts_with('@') && !std::filesystem::exists(arguments.list);
  const std::string path = is_named ? arguments.list.substr(1) : arguments.list;
  const auto text = read_whole_file(path, kMostListBytes);
  if (!text) return console.say(text.error().message), kNotRead;
  const auto list = PartList::parse(*text);
  if (!list) return console.say(printable(path) + ": " + list.error().message), kNotRead;
  const std::string name = "part " + part_name(list->part, list->parts) + " of " + std::to_string(list->parts);
  std::string why;
  switch (what_is_there(arguments.output, *list, why)) {
    case Before::kForeign:
      return console.say(why), kUsage;
    case Before::kWhole:
      if (!plain.is_quiet) console.say(printable(arguments.output) + ": " + name + " is there and whole; skipped");
      return kDone;
    case Before::kNothing:
      break;
  }
  if (plain.meter.platform >= 0) {
    if (const Status status = find_named_device(plain.meter); !status)
      return console.say(status.error().message), kNoDevice;
  }
  const std::string folder = std::filesystem::path(arguments.output).parent_path();
  if (const auto unmade = folder.empty() ? std::nullopt : make_folders(folder)) {
    console.say(printable(unmade->folder) + ": cannot be made: " + std::generic_category().message(unmade->error));
    return kNotWritten;
  }

  MeterOptions options = plain.meter;
  options.log = log_to(console, plain.is_verbose);
  Meter meter(std::move(options));
  std::uint64_t tensors = 0;
  for (const PlannedFile& file : list->files) {
    for (const PlannedFile::Work& work : file.work) tensors += work.is_piece ? 1 : work.end - work.first;
  }
  Survey::Progress last;
  const FoldedPart folded = fold_part(
      meter, *list,
      {.on = plain.request.on, .threads = plain.meter.threads, .progressed = [&](const Survey::Progress& now) {
         last = now;
         if (!plain.is_quiet) console.progress(now.tensors, tensors, now.bytes);
       }});
  console.hide_progress();
  for (const std::string& note : plain.is_quiet ? std::vector<std::string>() : folded.notes) console.complain(note);
  for (const std::string& fault : folded.errors) console.complain(fault);
  const int exit = folded.is_for_device ? kNoDevice : folded.errors.empty() ? kDone : kNotRead;
  // Not synced: a state that a power failure damages is noticed by its checksums, named by merge and folded again.
  return write_out(arguments.output, folded.state, exit, console, false);
}

}  // namespace

Subcommand fold_command(App command) {
  const auto arguments = std::make_shared<FoldArguments>();
  App fold = command.add_subcommand("fold", "Measure one part of a plan and write its state, whole or not at all");
  fold.add_option("@LIST", arguments->list, "A list that `tensorstat plan` wrote, such as @plan/017")
      .type_name("")
      .required();
  fold.add_option("-o,--output", arguments->output,
                  "The state, such as states/017.tsp; its folder is made. If it is there and whole, nothing is read")
      .check(names_output())
      .type_name("FILE.tsp")
      .required();
  arguments->options.declare(fold, PlainOptions::kComputes);
  fold.footer(
      "Any machine may fold any part, in any order, and again: a part that is done costs nothing. A killed fold leaves "
      "no state behind. What could not be read or measured is in the state, too, and merge reports it; such a state is "
      "folded again by the next call.\n\n"
      "Examples:\n"
      "  tensorstat fold @plan/017 -o states/017.tsp\n"
      "  for part in plan/*; do tensorstat fold @$part -o states/${part##*/}.tsp; done\n\n"
      "Exit status: 0 the state is there and whole; 2 wrong usage, or another file is there; 3 some input could not be "
      "read; 4 no device can compute what --on device asks for; 5 the state could not be written.");
  fold.parse_complete_callback([arguments] { arguments->plain = arguments->options.take(); });
  return {fold, [arguments](Console& console) { return run_fold(*arguments, console); }};
}

}  // namespace tensorstat::cli
