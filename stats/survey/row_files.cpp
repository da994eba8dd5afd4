#include "stats/survey/row_files.hpp"

#include <filesystem>
#include <system_error>

#include "stats/base/printable.hpp"
#include "stats/files/ascend/long_name.hpp"
#include "stats/files/io/folders.hpp"
#include "stats/rows/monitors/monitor_rows.hpp"
#include "stats/rows/names/run_name.hpp"
#include "stats/rows/store_door.hpp"

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

}  // namespace

bool is_row_file(const std::string& path) {
  std::error_code ignored;
  if (stored_path(path)) return true;
  return (path.ends_with(".csv") || is_named_as_dump_json(path) || is_file_of_monitor(path)) &&
         !fs::is_directory(path, ignored);
}

bool has_name_of_rows(const std::string& path) {
  const std::string name = fs::path(path).filename();
  const bool is_of_run = identity_of_run(name) || (name.ends_with(".csv") && is_number(name, kLeastDigits));
  return name == "statistic.csv" || is_of_run || is_named_as_dump_json(path) || is_file_of_monitor(path);
}

std::vector<RowFile> find_row_files(const std::vector<std::string>& paths, std::vector<Error>& faults) {
  std::vector<RowFile> files;
  for (const std::string& path : paths) {
    if (const auto stored = stored_path(path)) {
      const auto found = store_door()->files(*stored);
      if (!found) faults.push_back(found.error());
      for (size_t i = 0; found && i < found->size(); ++i) files.push_back({(*found)[i].path, (*found)[i].folder});
      continue;
    }
    std::error_code ignored;
    if (!fs::is_directory(path, ignored)) {
      files.push_back({path, ""});
      continue;
    }
    const std::size_t before = files.size(), faults_before = faults.size();
    find_below(path, "", files, faults);
    if (files.size() == before && faults.size() == faults_before) {
      faults.push_back({Code::kUnreadable,
                        printable(path) + ": holds no statistic.csv, no dump.json and no csv of an operator's run"});
    }
  }
  return files;
}

}  // namespace tensorstat
