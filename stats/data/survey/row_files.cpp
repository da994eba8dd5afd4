#include "stats/data/survey/row_files.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <span>
#include <system_error>
#include <unordered_set>
#include <utility>

#include "stats/core/base/printable.hpp"
#include "stats/data/files/ascend/long_name.hpp"
#include "stats/data/files/io/folders.hpp"
#include "stats/data/files/io/random_file.hpp"
#include "stats/data/rows/monitors/monitor_rows.hpp"
#include "stats/data/rows/names/dump_place.hpp"
#include "stats/data/rows/names/run_name.hpp"
#include "stats/data/rows/row_source.hpp"

namespace tensorstat {
namespace {

namespace fs = std::filesystem;

// msprobe's dump.json. Other .json files hold no rows.
bool is_named_as_dump_json(const std::string& path) {
  const fs::path name = fs::path(path).filename();
  return name == "dump.json" || name == "debug.json";
}

void find_below(const std::string& folder, const std::string& relative, std::vector<RowFile>& files,
                std::vector<Error>& faults) {
  for (const FolderEntry& entry : entries_of(folder, faults)) {
    const std::string name = fs::path(entry.path).filename().string();
    if (entry.is_folder) {
      if (!name.starts_with('.'))
        find_below(entry.path, relative.empty() ? name : relative + "/" + name, files, faults);
    } else if (has_name_of_rows(entry.path)) {
      files.push_back({entry.path, relative});
    }
  }
}

// "runs/a/event_/rank_0/model/0/7/statistic.csv"; nullopt of a file that is in no event.
std::optional<std::string> without_event(const RowFile& file) {
  constexpr std::string_view kEvent = "event_";  // and the number of its last step
  const std::size_t end = file.path.rfind('/');
  if (end == file.path.npos || end < file.folder.size()) return std::nullopt;
  const std::string_view path = file.path;
  for (std::size_t begin = end - file.folder.size(), next = 0; begin < end; begin = next + 1) {
    next = path.find('/', begin);
    const std::string_view name = path.substr(begin, next - begin);
    if (!name.starts_with(kEvent) || !is_number(name.substr(kEvent.size()))) continue;
    return file.path.substr(0, begin + kEvent.size()) + file.path.substr(next);
  }
  return std::nullopt;
}

std::uint64_t size_of(const std::string& path) {
  std::error_code failed;
  const auto bytes = fs::file_size(path, failed);
  return failed ? 0 : bytes;
}

// As far as the shorter one goes. Files that cannot be read, such as pipes, are not alike: reading them tells the
// error.
bool begin_alike(const std::string& a, const std::string& b) {
  constexpr std::uint64_t kBlockBytes = 1 << 14;
  const auto in_a = RandomFile::open(a), in_b = RandomFile::open(b);
  if (!in_a || !in_b) return false;
  const std::uint64_t shared = std::min(in_a->size_bytes(), in_b->size_bytes());
  std::array<std::byte, kBlockBytes> block_a, block_b;
  for (std::uint64_t offset = 0; offset < shared; offset += kBlockBytes) {
    const std::size_t bytes = std::min(kBlockBytes, shared - offset);
    const auto of_a = std::span(block_a).first(bytes), of_b = std::span(block_b).first(bytes);
    if (!in_a->read_at(offset, of_a) || !in_b->read_at(offset, of_b)) return false;
    if (!std::ranges::equal(of_a, of_b)) return false;
  }
  return true;
}

}  // namespace

std::string* EventSteps::same_as(const RowFile& file) {
  const auto place = without_event(file);
  if (!place) return nullptr;
  const auto [first, is_new] = first_.try_emplace(*place, file.path);
  return !is_new && first->second != file.path && begin_alike(first->second, file.path) ? &first->second : nullptr;
}

bool is_row_file(const std::string& path) {
  std::error_code ignored;
  if (stored_path(path)) return true;
  return (path.ends_with(".csv") || is_named_as_dump_json(path) || is_file_of_monitor(path)) &&
         !fs::is_directory(path, ignored);
}

bool has_name_of_rows(const std::string& path) {
  const std::string name = fs::path(path).filename();
  const bool is_of_run = identity_of_run(name) || (name.ends_with(".csv") && is_number(name, kLeastDigits));
  return is_statistic_csv(name) || is_of_run || is_named_as_dump_json(path) || is_file_of_monitor(path);
}

namespace {

// Of the same step in several events, the longest stays, and of those the first.
void leave_copies_out(std::vector<RowFile>& files, std::size_t begin) {
  EventSteps steps;
  std::unordered_set<std::string> copies;
  for (std::size_t i = begin; i < files.size(); ++i) {
    std::string* const other = steps.same_as(files[i]);
    if (other == nullptr) continue;
    const bool is_longer = size_of(files[i].path) > size_of(*other);
    copies.insert(is_longer ? std::exchange(*other, files[i].path) : files[i].path);
  }
  const auto is_copy = [&](const RowFile& file) { return copies.contains(file.path); };
  files.erase(std::remove_if(files.begin() + static_cast<std::ptrdiff_t>(begin), files.end(), is_copy), files.end());
}

}  // namespace

std::vector<RowFile> find_row_files(const std::vector<std::string>& paths, std::vector<Error>& faults) {
  std::vector<RowFile> files;
  for (const std::string& path : paths) {
    if (const auto stored = stored_path(path)) {
      const auto stored_files = stored->source->files(*stored);
      if (!stored_files) faults.push_back(stored_files.error());
      for (size_t i = 0; stored_files && i < stored_files->size(); ++i)
        files.push_back({(*stored_files)[i].path, (*stored_files)[i].folder});
      continue;
    }
    std::error_code ignored;
    if (!fs::is_directory(path, ignored)) {
      files.push_back({path, ""});
      continue;
    }
    const std::size_t before = files.size(), faults_before = faults.size();
    find_below(path, "", files, faults);
    leave_copies_out(files, before);
    if (files.size() == before && faults.size() == faults_before) {
      faults.push_back({Code::kUnreadable,
                        printable(path) + ": holds no statistic.csv, no dump.json and no csv of an operator's run"});
    }
  }
  return files;
}

Status OneRun::add(const std::string& path) {
  const auto stored = stored_path(path);
  const auto file = file_of_run(stored ? stored->file : path);
  if (!file) return {};
  const std::string in_store = stored ? stored->store + "//" + stored->run : "";
  if (whose_.empty()) first_ = in_store.empty() ? file->run : in_store;
  const Whose& other = whose_.try_emplace(file->below, Whose{in_store, file->run}).first->second;
  if (other.in_store == in_store && other.run == file->run) return {};
  if (other.in_store != in_store) {
    return Error{Code::kUnreadable,
                 printable(other.in_store) + " and " + printable(in_store) + " are two runs: name one of them"};
  }
  return Error{Code::kUnreadable, (in_store.empty() ? "" : printable(in_store) + ": ") + printable(other.run) +
                                      " and " + printable(file->run) + " are two runs: " +
                                      (in_store.empty() ? "name one of them" : "add each under a name of its own")};
}

}  // namespace tensorstat
