#include "stats/data/survey/changing_files.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "stats/data/files/io/folders.hpp"
#include "stats/data/rows/row_source.hpp"
#include "stats/data/text/natural_order.hpp"

namespace tensorstat {
namespace {

namespace fs = std::filesystem;

// For files, and again for folders: how many of the latest changed ones each look asks, and how many others in turn.
constexpr std::size_t kRecent = 64, kInTurn = 192;
// Times may be as coarse as two seconds: a folder that changed is listed in every look until they are over, and a file
// is handed out once more behind them.
constexpr std::chrono::milliseconds kCoarse{2500};

std::uint64_t nanoseconds(const timespec& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace

ChangingFiles::ChangingFiles(std::vector<std::string> paths) : missing_(std::move(paths)) {}

bool ChangingFiles::stamp_of(const std::string& path, Stamp& stamp) {
  struct stat facts = {};
  if (::stat(path.c_str(), &facts) != 0) return false;
  stamp = {facts.st_dev, facts.st_ino, static_cast<std::uint64_t>(facts.st_size), nanoseconds(facts.st_mtim),
           nanoseconds(facts.st_ctim)};
  return true;
}

void ChangingFiles::Turn::note_change(std::size_t number) {
  std::erase(recent, number);
  recent.push_front(number);
  if (recent.size() > kRecent) recent.pop_back();
}

std::vector<std::size_t> ChangingFiles::Turn::take(std::size_t count) {
  std::vector<std::size_t> numbers(recent.begin(), recent.end());
  for (std::size_t i = 0; i < std::min(count, kInTurn); ++i) numbers.push_back(next++ % count);
  std::ranges::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

// Looks for the paths that were given and are not there yet.
void ChangingFiles::begin() {
  std::vector<std::string> still_missing;
  for (std::string& path : missing_) {
    std::error_code ignored;
    const auto stored = stored_path(path);
    if (!stored && !fs::exists(path, ignored)) {
      still_missing.push_back(std::move(path));
    } else if (!stored && fs::is_directory(path, ignored)) {
      if (!known_.insert(path).second) continue;
      folders_.push_back({.path = path, .relative = "", .stamp = {}, .changed = {}});
    } else {
      add_file({path, ""});
    }
  }
  missing_ = std::move(still_missing);
}

void ChangingFiles::add_file(RowFile file) {
  if (!known_.insert(file.path).second || steps_.has(file)) return;
  const auto stored = stored_path(file.path);
  std::string asked = stored ? stored->store : file.path;
  Stamp stamp;
  stamp_of(asked, stamp);
  files_.push_back({std::move(file), std::move(asked), stamp, Clock::now(), stored.has_value()});
  file_turn_.note_change(files_.size() - 1);
  found_.push_back(files_.back().file);
}

// Adds what a folder holds. Folders in it are added behind it, and listed by the caller in their turn.
void ChangingFiles::list(std::size_t number, std::vector<Error>& faults) {
  const std::string path = folders_[number].path, relative = folders_[number].relative;
  const auto now = Clock::now();
  Stamp stamp;  // taken first: what comes while the folder is listed is seen the next time
  if (stamp_of(path, stamp) && stamp != folders_[number].stamp) {
    folders_[number].stamp = stamp;
    folders_[number].changed = now;
    folder_turn_.note_change(number);
  }
  folders_[number].is_settled = now - folders_[number].changed > kCoarse;
  for (FolderEntry& entry : entries_of(path, faults)) {
    if (known_.contains(entry.path)) continue;
    if (!entry.is_folder) {
      if (has_name_of_rows(entry.path)) add_file({std::move(entry.path), relative});
      continue;
    }
    const std::string name = fs::path(entry.path).filename().string();
    if (name.starts_with('.')) continue;
    if (!std::exchange(folders_[number].holds_folders, true)) inner_.push_back(number);
    known_.insert(entry.path);
    folders_.push_back({.path = std::move(entry.path),
                        .relative = relative.empty() ? name : relative + "/" + name,
                        .stamp = {},
                        .changed = {}});
    list(folders_.size() - 1, faults);
  }
}

std::vector<RowFile> ChangingFiles::look(std::vector<Error>& faults) {
  found_.clear();
  const std::size_t known_folders = folders_.size(), known_files = files_.size();
  if (!missing_.empty()) begin();
  for (std::size_t i = known_folders, end = folders_.size(); i < end; ++i) list(i, faults);

  std::vector<std::size_t> folders = folder_turn_.take(known_folders);
  folders.insert(folders.end(), inner_.begin(), inner_.end());
  std::ranges::sort(folders);
  folders.erase(std::unique(folders.begin(), folders.end()), folders.end());
  for (const std::size_t number : folders) {
    if (number >= known_folders) continue;  // was listed just now
    const Folder& folder = folders_[number];
    Stamp stamp;
    if (stamp_of(folder.path, stamp) && (!folder.is_settled || stamp != folder.stamp)) list(number, faults);
  }
  for (const std::size_t number : file_turn_.take(known_files)) {
    File& file = files_[number];
    Stamp stamp;
    if (!stamp_of(file.asked, stamp)) continue;
    const auto now = Clock::now();
    if (stamp != file.stamp) {
      file.stamp = stamp;
      file.changed = now;
      file.is_settled = file.asked != file.file.path;
      file_turn_.note_change(number);
    } else if (!file.is_settled && now - file.changed > kCoarse) {
      file.is_settled = true;
    } else {
      continue;
    }
    found_.push_back(file.file);
  }
  std::ranges::sort(found_, natural_before, &RowFile::path);
  return std::move(found_);
}

}  // namespace tensorstat
