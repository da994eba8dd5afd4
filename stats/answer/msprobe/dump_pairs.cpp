#include "stats/answer/msprobe/dump_pairs.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <map>
#include <tuple>

#include "stats/core/base/printable.hpp"
#include "stats/data/rows/names/dump_place.hpp"
#include "stats/data/survey/row_files.hpp"

namespace tensorstat::msprobe {
namespace {

enum DumpPart : std::size_t { kByExecution, kByStep, kByRank, kDumpPartCount };
using DumpKey = std::array<std::uint64_t, kDumpPartCount>;

struct FoundDump {
  std::string path;
  DumpKey key{};
};

// Adds the folders that could not be read to `unread`.
Result<std::vector<FoundDump>> dumps_at(const std::string& path, std::vector<Error>& unread) {
  std::error_code ignored;
  std::vector<FoundDump> dumps;
  if (!std::filesystem::is_directory(path, ignored)) {
    dumps.push_back({path});
    return dumps;
  }
  std::vector<Error> faults;
  for (const RowFile& file : find_row_files({path}, faults)) {
    const DumpPlace place = place_of_rows(file.path).value_or(DumpPlace{});
    dumps.push_back(
        {file.path, {static_cast<std::uint64_t>(execution_of_file(file.path)), place.iteration, place.rank}});
  }
  if (!dumps.empty()) {
    std::ranges::move(faults, std::back_inserter(unread));
    return dumps;
  }
  return faults.empty() ? Error{Code::kUnreadable, printable(path) + ": holds no dump.json"} : faults.front();
}

// Whether a part differs among the dumps of a side.
bool differ_in(const std::vector<FoundDump>& dumps, DumpPart part) {
  return std::ranges::any_of(dumps, [&](const FoundDump& dump) { return dump.key[part] != dumps[0].key[part]; });
}

std::string table_name(const DumpKey& key, const std::array<bool, kDumpPartCount>& counts) {
  std::string text;
  if (counts[kByExecution]) text.append("_").append(name(static_cast<Execution>(key[kByExecution])));
  if (counts[kByStep]) text += "_step" + std::to_string(key[kByStep]);
  if (counts[kByRank]) text += "_rank" + std::to_string(key[kByRank]);
  return text;
}

}  // namespace

Result<DumpPairs> pairs_of_dumps(const std::string& npu, const std::string& bench) {
  DumpPairs dumps;
  auto of_npu = dumps_at(npu, dumps.faults), of_bench = dumps_at(bench, dumps.faults);
  if (!of_npu) return of_npu.error();
  if (!of_bench) return of_bench.error();
  std::array<bool, kDumpPartCount> counts{};
  for (const DumpPart part : {kByExecution, kByStep, kByRank})
    counts[part] = differ_in(*of_npu, part) || differ_in(*of_bench, part);

  const auto by_key = [&](std::vector<FoundDump>& dumps) -> Result<std::map<DumpKey, std::string>> {
    std::map<DumpKey, std::string> known;
    for (FoundDump& dump : dumps) {
      for (const DumpPart part : {kByExecution, kByStep, kByRank}) {
        if (!counts[part]) dump.key[part] = 0;
      }
      const auto [other, is_new] = known.try_emplace(dump.key, dump.path);
      if (is_new) continue;
      return Error{Code::kUnreadable, printable(other->second) + " and " + printable(dump.path) +
                                          " are of one step and rank: name the folder of one step and one rank"};
    }
    return known;
  };
  const auto in_npu = by_key(*of_npu), in_bench = by_key(*of_bench);
  if (!in_npu) return in_npu.error();
  if (!in_bench) return in_bench.error();
  for (const auto& [key, path] : *in_npu) {
    const auto partner = in_bench->find(key);
    if (partner == in_bench->end()) {
      dumps.only_npu.push_back(path);
    } else {
      dumps.pairs.push_back(
          {path, partner->second, table_name(key, counts), key[kByRank], !counts[kByExecution] && !counts[kByStep]});
    }
  }
  for (const auto& [key, path] : *in_bench) {
    if (!in_npu->contains(key)) dumps.only_bench.push_back(path);
  }
  if (dumps.pairs.empty()) {
    return Error{Code::kUnreadable, "no step and rank of " + printable(npu) + " is in " + printable(bench) + ": " +
                                        printable(dumps.only_npu[0]) + ", " + printable(dumps.only_bench[0])};
  }
  return dumps;
}

}  // namespace tensorstat::msprobe
