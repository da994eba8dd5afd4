#include "stats/data/survey/growing_dump.hpp"

#include <algorithm>
#include <utility>

#include "stats/data/rows/row_source.hpp"

namespace tensorstat {
namespace {

constexpr std::chrono::milliseconds kLeastPause{250}, kMostPause{1500};
constexpr int kShareOfTime = 80;  // a look may take one part in this many
// An unfinished dump.json is not valid JSON. It becomes a fault after this time.
constexpr std::chrono::seconds kPatience{5};

}  // namespace

GrowingDump::GrowingDump(std::string path) : path_(std::move(path)), files_({path_}) {}

// Files that may have new rows, with their number of rows if a store holds them.
std::vector<std::pair<RowFile, std::uint64_t>> GrowingDump::changed_files(Look& look) {
  std::vector<Error> faults;
  std::vector<std::pair<RowFile, std::uint64_t>> changed;
  for (RowFile& file : files_.look(faults)) {
    const auto stored = stored_path(file.path);
    if (!stored) {
      changed.emplace_back(std::move(file), 0);
      continue;
    }
    auto inside = stored->source->files(*stored);
    if (!inside) {
      faults.push_back(inside.error());
      continue;
    }
    for (StoredRows& rows : *inside)
      changed.push_back({{std::move(rows.path), std::move(rows.folder)}, rows.row_count});
  }
  for (const auto& [path, fault] : faults_) changed.push_back({{path, ""}, 0});
  for (const Error& fault : faults) {
    if (said_.insert(fault.message).second) look.faults.push_back(fault.message);
  }
  return changed;
}

bool GrowingDump::is_replaced(const RowFile& file, std::uint64_t row_count) {
  const auto known = growth_.find(file.path);
  if (known == growth_.end()) return false;
  if (stored_path(file.path)) return row_count < known->second.row_count;
  GrowingRowFile growing(file.path, known->second);
  const auto is_new = growing.looks_new();
  return is_new && *is_new && growing.is_replaced() && !growing.is_json();
}

void GrowingDump::read(const RowFile& file, const EachFile& each, Look& look) {
  FileGrowth& known = growth_[file.path];
  const bool is_stored = stored_path(file.path).has_value();
  GrowingRowFile growing(file.path, known);
  if (!is_stored) {
    const auto is_new = growing.looks_new();
    if (is_new && !*is_new) return static_cast<void>(faults_.erase(file.path));
    // A file that was removed again is not a fault.
    if (!is_new) return static_cast<void>(faults_.erase(file.path));
  }
  // A dump.json and a file of a store give all their rows: those that were read before are left out.
  std::uint64_t left = is_stored || growing.is_json() ? known.row_count : 0, rows = 0;
  const auto read = each(file.path, [&](const EachRow& row) {
    const EachRow counted = [&](Row&& next) {
      if (left != 0) return --left, Status();
      ++rows;
      return row(std::move(next));
    };
    return is_stored ? read_rows_of_file(file.path, counted) : growing.read(counted);
  });
  look.rows += rows;
  if (left != 0 && read) look.begins_again = true;  // fewer rows than before
  const bool may_be_half = growing.is_json() && !is_stored;
  const bool is_whole = read || !may_be_half;
  if (is_whole) {
    const std::uint64_t before = known.row_count;
    if (!is_stored) known = growing.after();
    known.is_known = true;
    known.row_count = before + rows;
  } else {
    known.row_count += rows;
  }
  if (read) return static_cast<void>(faults_.erase(file.path));
  Fault& fault = faults_.try_emplace(file.path, Fault{read.error().message, Clock::now()}).first->second;
  if (may_be_half && Clock::now() - fault.since < kPatience) return;
  if (!std::exchange(fault.is_said, true) && said_.insert(fault.text).second) look.faults.push_back(fault.text);
  if (!may_be_half) faults_.erase(file.path);
}

GrowingDump::Look GrowingDump::look(const EachFile& each) {
  const auto begin = Clock::now();
  Look look;
  const auto changed = changed_files(look);
  look.begins_again =
      std::ranges::any_of(changed, [&](const auto& entry) { return is_replaced(entry.first, entry.second); });
  for (const auto& [file, row_count] : changed) {
    if (look.begins_again) break;
    if (stored_path(file.path) && growth_[file.path].row_count == row_count) continue;
    read(file, each, look);
  }
  if (look.begins_again) {
    growth_.clear();
    faults_.clear();
    files_ = ChangingFiles({path_});
  }
  const auto cost = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin);
  pause_ = std::clamp(cost * kShareOfTime, kLeastPause, kMostPause);
  return look;
}

}  // namespace tensorstat
