#include "stats/data/survey/row_files.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <span>
#include <system_error>

#include "stats/core/base/printable.hpp"
#include "stats/data/files/ascend/long_name.hpp"
#include "stats/data/files/io/folders.hpp"
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

bool begin_alike(const std::string& a, const std::string& b) {
  std::ifstream in_a(a, std::ios::binary), in_b(b, std::ios::binary);
  for (std::array<char, 1 << 14> of_a{}, of_b{}; in_a && in_b;) {
    in_a.read(of_a.data(), of_a.size());
    in_b.read(of_b.data(), of_b.size());
    const auto shared = static_cast<std::size_t>(std::min(in_a.gcount(), in_b.gcount()));
    if (!std::ranges::equal(std::span(of_a).first(shared), std::span(of_b).first(shared))) return false;
  }
  return true;
}

}  // namespace

bool EventSteps::has(const RowFile& file) {
  const auto place = without_event(file);
  if (!place) return false;
  const auto [first, is_new] = first_.try_emplace(*place, file.path);
  return !is_new && first->second != file.path && begin_alike(first->second, file.path);
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
    EventSteps steps;
    const auto is_copy = [&](const RowFile& file) { return steps.has(file); };
    files.erase(std::remove_if(files.begin() + static_cast<std::ptrdiff_t>(before), files.end(), is_copy), files.end());
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
