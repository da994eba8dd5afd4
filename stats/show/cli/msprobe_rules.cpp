#include "stats/show/cli/msprobe_rules.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "stats/answer/msprobe/dump_pairs.hpp"
#include "stats/answer/msprobe/merged.hpp"
#include "stats/answer/msprobe/table.hpp"
#include "stats/core/base/printable.hpp"
#include "stats/show/cli/exit_status.hpp"
#include "stats/show/cli/options/yaml_file.hpp"
#include "stats/show/cli/report/output.hpp"
#include "stats/show/cli/report/xlsx_table.hpp"

namespace tensorstat::cli {
namespace {

// "out_rank1.csv" of "out.csv" and "_rank1".
std::string with_name(const std::string& path, const std::string& name) {
  const std::size_t dot = path.rfind('.'), slash = path.rfind('/');
  const bool has_extension = dot != path.npos && (slash == path.npos || dot > slash);
  return has_extension ? path.substr(0, dot) + name + path.substr(dot) : path + name;
}

// A file that is written as csv, or as xlsx if its name ends so.
template <typename Table, typename WriteCsv>
Status write_table(const std::string& path, const Table& table, const WriteCsv& write_csv) {
  Output output(path);
  const auto write = [&](std::string_view text) { return output.write(text); };
  Status written;
  if (path.ends_with(".xlsx")) {
    const auto file = xlsx_of(table);
    written = file ? write(*file) : Status(file.error());
  } else {
    written = write_csv(write);
  }
  return written ? output.close() : written;
}

int say(const Error& error, int status, Console& console) {
  console.say(error.message);
  return status;
}

// The parsed arguments.
struct MsprobeWork {
  msprobe::Naming naming;
  std::optional<msprobe::MergedTables> merged;
};

Result<msprobe::Mapping> mapping_of(const std::string& argument) {
  using msprobe::MappingKind;
  msprobe::Mapping mapping;
  if (argument.empty()) return mapping;
  const std::size_t equals = argument.find('=');
  const std::string kind = argument.substr(0, equals);
  constexpr std::pair<std::string_view, MappingKind> kKinds[] = {{"api", MappingKind::kApi},
                                                                 {"cell", MappingKind::kCell},
                                                                 {"data", MappingKind::kData},
                                                                 {"layer", MappingKind::kLayer}};
  const auto* entry = std::ranges::find(kKinds, std::string_view(kind), [](const auto& each) { return each.first; });
  if (entry == std::end(kKinds)) {
    return Error{Code::kInvalid,
                 "--mapping: '" + shown(kind) + "' is none of api, cell, data, layer; --mapping cell=FILE"};
  }
  mapping.kind = entry->second;
  if (equals == argument.npos) return mapping;
  auto file = read_yaml(argument.substr(equals + 1));
  if (!file) return file.error();
  mapping.file = *std::move(file);
  return mapping;
}

Result<MsprobeWork> work_of(const MsprobeArguments& arguments) {
  MsprobeWork work;
  auto names = Renames::parse(arguments.names);
  if (!names) return Error{Code::kInvalid, "names, " + names.error().message};
  auto mapping = mapping_of(arguments.mapping);
  if (!mapping) return mapping.error();
  work.naming = {*std::move(names), *std::move(mapping), arguments.is_fuzzy};
  if (arguments.merge.empty()) return work;
  const auto file = read_yaml(arguments.merge);
  if (!file) return file.error();
  auto config = msprobe::merge_config_of(*file);
  if (!config) return config.error();
  work.merged.emplace(*std::move(config));
  return work;
}

int compare_pair(const msprobe::DumpPair& pair, MsprobeWork& work, const std::string& path, Console& console) {
  const auto compared = msprobe::compare_by_rules(
      pair.npu, pair.bench, [&](std::string_view words) { console.complain(words); }, work.naming);
  if (!compared) return say(compared.error(), compared.error().code == Code::kInvalid ? kUsage : kNotRead, console);
  if (work.merged) {
    if (Status added = work.merged->add(pair.rank, *compared); !added) return say(added.error(), kUsage, console);
  } else {
    const Status written =
        write_table(path, *compared, [&](const auto& write) { return msprobe::write_csv(*compared, write); });
    if (!written) return say(written.error(), kNotWritten, console);
  }
  if (const auto count = compared->passed_nan_count(); count != 0) {
    console.say(printable(pair.bench) + ": " + std::to_string(count) +
                (count == 1 ? " row of Bench holds" : " rows of Bench hold") + " NaN or Inf, and msprobe passes " +
                (count == 1 ? "it" : "them") + ": it looks for these in NPU alone");
  }
  if (!compared->is_whole) return kNotRead;
  return compared->differs() ? kFound : kDone;
}

}  // namespace

int run_msprobe_rules(const std::string& a, const std::string& b, const MsprobeArguments& arguments,
                      const std::string& path, Console& console) {
  auto work = work_of(arguments);
  if (!work) return say(work.error(), work.error().code == Code::kUnreadable ? kNotRead : kUsage, console);
  const auto dumps = msprobe::pairs_of_dumps(a, b);
  if (!dumps) return say(dumps.error(), kNotRead, console);
  const bool are_several = dumps->pairs.size() > 1;
  if (are_several && path.empty() && !work->merged) {
    console.say(std::to_string(dumps->pairs.size()) + " pairs of dumps have a table each: -o out.csv writes out" +
                dumps->pairs[0].name + ".csv and so on");
    return kUsage;
  }
  if (work->merged && !dumps->pairs[0].differ_in_rank_alone) {
    console.say("--merge: the ranks of one step are merged; name the folder of one step, and graph/ or pynative/");
    return kUsage;
  }
  for (const Error& fault : dumps->faults) console.complain(fault.message);
  int status = dumps->faults.empty() ? kDone : kNotRead;
  for (const msprobe::DumpPair& pair : dumps->pairs) {
    status = std::max(status, compare_pair(pair, *work, are_several ? with_name(path, pair.name) : path, console));
    if (status == kUsage) return status;
  }
  for (const auto* alone : {&dumps->only_npu, &dumps->only_bench}) {
    for (const std::string& dump : *alone) {
      console.say(printable(dump) + ": the other side has no dump of this step and rank");
      status = std::max<int>(status, kFound);
    }
  }
  if (!work->merged) return status;
  for (const std::string& call : work->merged->missing()) console.say("--merge: no rank has a call " + shown(call));
  const auto sheets = work->merged->sheets();
  const Status written =
      write_table(path, std::span(sheets), [&](const auto& write) { return write(msprobe::csv_of(sheets)); });
  return written ? status : say(written.error(), kNotWritten, console);
}

}  // namespace tensorstat::cli
