#include "stats/dump/replay/dumped_runs.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>

#include "stats/dump/msprobe/tensor_file_name.hpp"
#include "stats/files/ascend/long_name.hpp"
#include "stats/rows/names/dump_place.hpp"

namespace tensorstat {
namespace {

namespace fs = std::filesystem;

bool came_before(const DumpedFile& a, const DumpedFile& b) {
  const auto order = [](const Identity& who) { return std::tie(who.timestamp_us, who.io, who.slot); };
  return order(a.named.identity) < order(b.named.identity);
}

// The time of the last write to a file; 0 if unknown.
std::uint64_t written_at_us(const std::string& path) {
  using std::chrono::microseconds;
  std::error_code error;
  const auto time = fs::last_write_time(path, error);
  if (error) return 0;
  const auto since_epoch = std::chrono::file_clock::to_sys(time).time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<microseconds>(since_epoch).count());
}

// The files of one call get the time of the earliest. Those without a number come after the others.
void complete_call(std::vector<DumpedFile>& files, const std::vector<bool>& is_numbered) {
  std::uint64_t earliest = written_at_us(files.front().path);
  std::map<std::string, std::uint64_t> next;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const Identity& who = files[i].named.identity;
    earliest = std::min(earliest, written_at_us(files[i].path));
    if (is_numbered[i]) next[who.io] = std::max(next[who.io], who.slot + 1);
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    Identity& who = files[i].named.identity;
    who.timestamp_us = std::max<std::uint64_t>(earliest, 1);
    if (!is_numbered[i]) who.slot = next[who.io]++;
  }
}

// Splits the files of one operator in one iteration into its runs.
void add_runs(std::vector<DumpedFile>& files, std::vector<DumpedRun>& runs) {
  std::stable_sort(files.begin(), files.end(), came_before);
  std::set<std::pair<std::string, std::uint64_t>> seen;  // inputs and outputs of the current run
  for (DumpedFile& file : files) {
    const Identity& who = file.named.identity;
    if (seen.empty() || !seen.emplace(who.io, who.slot).second) {
      runs.emplace_back();
      seen = {{who.io, who.slot}};
    }
    runs.back().push_back(std::move(file));
  }
}

MsprobeTensorName named_by(const DumpedLeaf& leaf) {
  MsprobeTensorName named;
  named.identity.op_type = leaf.call->op_type;
  named.identity.op_name = leaf.call->op_name;
  named.identity.io = leaf.is_output ? "output" : "input";
  named.identity.slot = leaf.slot;
  return named;
}

// Sets the times of a dump.json's calls so that they ascend in its order: copied files may have the times of the copy.
void put_calls_in_order(std::vector<DumpedRun>& runs) {
  std::map<std::pair<std::string, std::uint64_t>, DumpedRun*> known;  // by folder and number
  for (DumpedRun& run : runs) {
    if (run[0].call) known[{fs::path(run[0].path).parent_path().string(), run[0].call->number}] = &run;
  }
  const std::string* folder = nullptr;
  std::uint64_t last = 0;
  for (const auto& [place, run] : known) {
    if (folder == nullptr || *folder != place.first) last = 0;
    folder = &place.first;
    for (const DumpedFile& file : *run) last = std::max(last, file.named.identity.timestamp_us);
    for (DumpedFile& file : *run) file.named.identity.timestamp_us = last;
  }
}

}  // namespace

std::vector<DumpedRun> dumped_runs(const std::vector<std::string>& files,
                                   const std::function<void(const Error&)>& unreadable) {
  LongNames names(unreadable);
  DumpedCalls calls(unreadable);
  using Operator = std::tuple<std::string, bool, std::string, std::string, std::uint64_t, std::uint64_t>;
  struct Files {
    std::vector<DumpedFile> files;
    std::vector<bool> is_numbered;  // for msprobe's files
  };
  std::map<Operator, Files> operators;
  std::vector<DumpedRun> runs;
  for (const std::string& path : files) {
    const std::string name = names.name_of(path);
    const DumpPlace place = place_of_file(path);
    if (auto run = named_run(name)) {
      runs.push_back({{path, {*std::move(run), ""}, place, true}});
      continue;
    }
    const DumpedLeaf* leaf = calls.leaf_of(path, name);
    const auto call = leaf != nullptr ? named_by(*leaf) : msprobe_tensor_name(name);
    const NamedTensor named = call ? NamedTensor{call->identity, ""} : named_tensor(name, 1);
    const Identity& who = named.identity;
    Files& of_operator =
        operators[{fs::path(path).parent_path().string(), !call, who.op_type, who.op_name, who.task_id, who.stream_id}];
    DumpedFile& file = of_operator.files.emplace_back(DumpedFile{path, named, place});
    if (leaf != nullptr) file.call = leaf->call, file.requires_grad = leaf->requires_grad;
    if (call) of_operator.is_numbered.push_back(call->is_numbered);
  }
  for (auto& [key, of_operator] : operators) {
    if (!of_operator.is_numbered.empty()) complete_call(of_operator.files, of_operator.is_numbered);
    add_runs(of_operator.files, runs);
  }
  put_calls_in_order(runs);
  std::stable_sort(runs.begin(), runs.end(), [](const DumpedRun& a, const DumpedRun& b) {
    const auto order = [](const DumpedRun& run) {
      return std::pair(run[0].named.identity.timestamp_us, run[0].call ? run[0].call->number : 0);
    };
    return order(a) < order(b);
  });
  return runs;
}

}  // namespace tensorstat
