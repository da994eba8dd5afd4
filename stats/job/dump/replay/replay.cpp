#include "stats/job/dump/replay/replay.hpp"

#include <unistd.h>

#include <filesystem>
#include <new>

#include "stats/data/rows/names/dump_place.hpp"
#include "stats/job/dump/config/config_dialect.hpp"
#include "stats/job/dump/output/dump_output.hpp"
#include "stats/job/dump/replay/dumped_runs.hpp"
#include "stats/job/dump/replay/dumped_tensor.hpp"

namespace tensorstat {
Result<DumpCounters> replay(std::string_view config_text, const std::vector<std::string>& files, DumpOptions options,
                            Existing existing, const ReplayListener& listener) try {
  Notices silent(nullptr);
  auto config = parse_config_here(config_text, silent, options.path);
  if (!config) return config.error();
  if (!options.path.empty()) config->path = options.path;
  ReplayOutput output(*config, existing, static_cast<std::uint64_t>(getpid()));
  options.path = output.path();
  options.names_are_escaped = true;
  auto session = DumpSession::from_json(config_text, options);
  if (!session) return session.error();

  // The first dump chose these operators. So set_dump and failure must not exclude them now. Nor do flags add operators
  // to those that a config lists.
  const bool set_dump = config->operators == nullptr || !config->operators->adds_flagged();
  constexpr bool kFailed = true;
  const auto operator_of = [&](const DumpedRun& run) {
    const Identity& identity = run[0].named.identity;
    return session->operator_named(identity.op_type, identity.op_name, set_dump, identity.stream_id, identity.task_id);
  };
  const auto place_of = [&](const DumpedRun& run) {  // the folders' numbers already include initial_iteration
    DumpPlace place = run[0].place;
    place.iteration -= config->initial_iteration;
    return place;
  };
  const auto runs = dumped_runs(files, listener.unreadable);
  for (const DumpedRun& run : runs) {
    const auto folder = config->form->folder(*config, options, run[0].place);
    if (!folder || !session->wants(place_of(run), operator_of(run), kFailed)) continue;
    const std::string source_folder = std::filesystem::path(run[0].path).parent_path().string();
    if (Status free = output.check(*folder, source_folder); !free) return free.error();
  }

  std::size_t done = 0;
  for (const DumpedRun& run : runs) {
    const auto* op = operator_of(run);
    if (op == nullptr) return out_of_memory();  // the session would read nullptr as "not wanted"
    const DumpPlace place = place_of(run);
    if (const std::string model = model_in_dump(run[0].path); !model.empty()) session->name_graph(place.graph, model);
    std::vector<DumpTensor> tensors;
    const auto wants = [&](Io io) { return session->wants(place, op, io, kFailed); };
    for (const DumpedFile& file : run) {
      read_tensors(file, !config->trans_flag, wants, listener.unreadable, tensors);
      listener.progressed(++done, files.size());
    }
    session->collect(place, op, tensors, kFailed, run[0].call ? run[0].call->layout : std::string_view());
  }
  session->close();
  const DumpCounters counters = session->counters();
  if (existing == Existing::kReplace && counters.lost_row_count + counters.lost_tensor_count != 0) {
    return Error{Code::kUnwritable, std::to_string(counters.lost_row_count) + " rows and " +
                                        std::to_string(counters.lost_tensor_count) +
                                        " tensors could not be written, so nothing is replaced"};
  }
  if (Status placed = output.finish(); !placed) return placed.error();
  return counters;
} catch (const std::bad_alloc&) {
  return out_of_memory();
} catch (const std::exception& fault) {  // thrown by a listener
  return Error{Code::kInvalid, fault.what()};
}

}  // namespace tensorstat
