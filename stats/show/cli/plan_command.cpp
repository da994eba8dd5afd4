// `tensorstat plan` cuts a tree into parts of equal work, for many machines. `fold` measures a part, `merge` joins
// them.

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>

#include "stats/answer/parts/plan.hpp"
#include "stats/core/base/printable.hpp"
#include "stats/data/survey/row_files.hpp"
#include "stats/show/cli/exit_status.hpp"
#include "stats/show/cli/inputs.hpp"
#include "stats/show/cli/options/options.hpp"
#include "stats/show/cli/options/plain_options.hpp"
#include "stats/show/cli/read_status.hpp"
#include "stats/show/cli/staged_folder.hpp"
#include "stats/show/cli/subcommand.hpp"
#include "stats/show/cli/terminal/console.hpp"

namespace tensorstat::cli {
namespace {

struct PlanArguments {
  PlainOptions options;
  Arguments plain;
  std::uint32_t parts = 1;
  std::string output;
};

std::string bytes_text(std::uint64_t bytes) {
  if (bytes < 1'000'000) return grouped(bytes) + " bytes";
  return bytes < 1'000'000'000 ? one_decimal(static_cast<double>(bytes) / 1e6) + " MB"
                               : one_decimal(static_cast<double>(bytes) / 1e9) + " GB";
}

PlanRequest plan_request_of(const Arguments& arguments) {
  PlanRequest request{.asked = arguments.request.categories,
                      .is_default = arguments.stats_are_default,
                      .measured = {},
                      .precision = arguments.request.precision,
                      .cast_scale = arguments.request.cast_scale,
                      .by = arguments.by,
                      .void_is_bfloat16 = arguments.void_is_bfloat16,
                      .raw = arguments.raw};
  if (request.is_default) request.asked = *categories_from(kStatsByDefault);
  add_what_is_free(request);
  return request;
}

Status write_list(const PartList& list, const std::string& folder) {
  const std::string path = folder + "/" + part_name(list.part, list.parts);
  std::ofstream file(path, std::ios::binary);
  file << list.text();
  file.close();
  if (file) return {};
  return Error{Code::kUnwritable, printable(path) + ": cannot be written"};
}

int run_plan(const PlanArguments& arguments, Console& console) {
  const Inputs inputs = find_inputs(arguments.plain.paths, arguments.plain.order, Rows::kLeft);
  const bool is_quiet = arguments.plain.is_quiet;
  for (const std::string& note : is_quiet ? std::vector<std::string>() : inputs.notes) console.say(note);
  for (const Error& fault : inputs.faults) console.complain(fault.message);
  if (!inputs.tensors_of.empty()) return console.say("plan takes files and folders, and no FILE::TENSOR"), kUsage;
  for (const std::string& file : inputs.files) {
    if (file == "-") return console.say("a stream cannot be planned; name files and folders"), kUsage;
    if (is_row_file(file)) return console.say(printable(file) + ": rows of statistics are not planned"), kUsage;
  }
  if (inputs.files.empty()) return kNotRead;
  RemovedOnSignal removed;
  auto staged = StagedFolder::open(arguments.output);
  if (!staged) return console.say(staged.error().message), kNotWritten;
  removed.guard(staged->path());
  const Plan plan =
      make_plan(plan_request_of(arguments.plain), inputs.files, inputs.faults, arguments.parts, [&](std::size_t files) {
        if (!is_quiet) console.progress(files, inputs.files.size(), 0);
      });
  console.hide_progress();
  int exit = inputs.faults.empty() ? kDone : kNotRead;
  for (const Error& each : plan.unreadable) {
    if (status_of(each) != kDone || !is_quiet) console.complain(each.message);
    exit = std::max<int>(exit, status_of(each));
  }
  if (plan.tensors == 0) return kNotRead;
  for (const PartList& list : plan.lists) {
    if (Status written = write_list(list, staged->path()); !written) {
      return console.say(written.error().message), kNotWritten;
    }
  }
  if (Status placed = staged->place(); !placed) return console.say(placed.error().message), kNotWritten;
  if (!is_quiet) {
    console.say(counted_noun(plan.tensors, "tensor") + " of " + counted_noun(inputs.files.size(), "file") + ", " +
                bytes_text(plan.bytes) + ", in " + counted_noun(plan.lists.size(), "part") + " of at most " +
                bytes_text(plan.most_bytes));
    if (plan.uncut_tensors != 0) {
      console.say(counted_noun(plan.uncut_tensors, "tensor") +
                  " cannot be cut into equal parts, the first: " + printable_name(plan.first_uncut));
    }
  }
  return exit;
}

}  // namespace

Subcommand plan_command(App command) {
  const auto arguments = std::make_shared<PlanArguments>();
  App plan = command.add_subcommand(
      "plan", "Cut a tree into parts of equal work, which `fold` measures on any machines and `merge` joins");
  arguments->options.declare(plan, PlainOptions::kFiles | PlainOptions::kStats | PlainOptions::kMeasures);
  plan.get_option("PATH").required();
  plan.add_option("--parts", arguments->parts,
                  "The number of parts; several for each machine, so that all end together")
      .between(1u, kMostParts)
      .type_name("N")
      .required();
  plan.add_option("-o,--output", arguments->output, "The new folder for the lists, PLAN/000 and so on")
      .check(names_output())
      .type_name("PLAN")
      .required();
  plan.footer(
      "Only the heads of the files are read. Each list is a text: its files, and numbers of tensors or elements in "
      "them. A large tensor is cut, unless the file stores it packed or compressed, or md5, hash or --by is asked "
      "for.\n"
      "Paths are kept as you give them: fold in the same directory, or give absolute paths.\n\n"
      "Examples:\n"
      "  tensorstat plan /data/run --parts 64 -o plan\n"
      "  parallel tensorstat fold @{} -o states/{/}.tsp ::: plan/*        GNU parallel\n"
      "  srun tensorstat fold @plan/$(printf %03d $SLURM_ARRAY_TASK_ID) -o states/$SLURM_ARRAY_TASK_ID.tsp\n"
      "  tensorstat merge states --fail-on nan,inf\n\n"
      "Exit status: 0 planned; 2 wrong usage; 3 some path could not be read (the others are planned; merge reports it, "
      "too); 5 the plan could not be written.");
  plan.parse_complete_callback([arguments] { arguments->plain = arguments->options.take(); });
  return {plan, [arguments](Console& console) { return run_plan(*arguments, console); }};
}

}  // namespace tensorstat::cli
