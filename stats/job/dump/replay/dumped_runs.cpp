#include "stats/job/dump/replay/dumped_runs.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>

#include "stats/data/files/ascend/long_name.hpp"
#include "stats/data/rows/names/dump_place.hpp"

namespace tensorstat {
namespace {

namespace fs = std::filesystem;

bool came_before(const DumpedFile& a, const DumpedFile& b) {
  const auto order = [](const Identity& identity) {
    return std::tie(identity.timestamp_us, identity.io, identity.slot);
  };
  return order(a.named.identity) < order(b.named.identity);
}

// Splits the files of one operator in one iteration into its runs.
void add_runs(std::vector<DumpedFile>& files, std::vector<DumpedRun>& runs) {
  std::stable_sort(files.begin(), files.end(), came_before);
  std::set<std::pair<std::string, std::uint64_t>> seen;  // inputs and outputs of the current run
  for (DumpedFile& file : files) {
    const Identity& identity = file.named.identity;
    if (seen.empty() || !seen.emplace(identity.io, identity.slot).second) {
      runs.emplace_back();
      seen = {{identity.io, identity.slot}};
    }
    runs.back().push_back(std::move(file));
  }
}

}  // namespace

std::vector<DumpedRun> dumped_runs(const std::vector<std::string>& files,
                                   const std::function<void(const Error&)>& unreadable) {
  LongNames names(unreadable);
  DumpedCalls calls(names, unreadable);
  using Operator = std::tuple<std::string, bool, std::string, std::string, std::uint64_t, std::uint64_t>;
  std::map<Operator, std::vector<DumpedFile>> operators;
  std::vector<DumpedRun> runs;
  for (const std::string& path : files) {
    const std::string name = names.name_of(path);
    const DumpPlace place = place_of_file(path);
    if (auto run = named_run(name)) {
      runs.push_back({{path, {*std::move(run), ""}, place, true}});
      continue;
    }
    const DumpedLeaf* leaf = calls.leaf_of(path);
    DumpedFile file{path, leaf != nullptr ? NamedTensor{leaf->identity, ""} : named_tensor(name, 1), place};
    if (leaf != nullptr) file.call = leaf->call, file.requires_grad = leaf->requires_grad;
    const Identity& identity = file.named.identity;
    operators[{fs::path(path).parent_path().string(), leaf == nullptr, identity.op_type, identity.op_name,
               identity.task_id, identity.stream_id}]
        .push_back(std::move(file));
  }
  for (auto& [key, of_operator] : operators) add_runs(of_operator, runs);
  std::stable_sort(runs.begin(), runs.end(), [](const DumpedRun& a, const DumpedRun& b) {
    const auto order = [](const DumpedRun& run) {
      return std::pair(run[0].named.identity.timestamp_us, run[0].call ? run[0].call->number : 0);
    };
    return order(a) < order(b);
  });
  return runs;
}

}  // namespace tensorstat
