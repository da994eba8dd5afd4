#include "stats/job/dump/replay/replay_output.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <vector>

#include "stats/core/base/printable.hpp"
#include "stats/data/files/ascend/long_name.hpp"
#include "stats/data/files/io/folders.hpp"
#include "stats/data/files/io/open_file.hpp"
#include "stats/data/files/npy/npy_writer.hpp"
#include "stats/data/files/tensor_source.hpp"
#include "stats/data/rows/names/run_name.hpp"
#include "stats/job/dump/output/dump_output.hpp"

namespace tensorstat {
namespace {

namespace fs = std::filesystem;

bool is_there(const std::string& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(path, ignored));
}

// The path of a tensor file in `folder`; empty if the folder has none.
std::string tensor_file_in(const std::string& folder) {
  std::vector<Error> ignored;
  for (const FolderEntry& entry : entries_of(folder, ignored)) {
    if (!entry.is_folder && is_named_as_tensors(entry.path)) return entry.path;
  }
  return "";
}

constexpr std::string_view kHiddenPrefix = ".replay-";

// Opens and locks a folder; -1 if another process holds the lock, or locking fails.
int locked(const std::string& folder) {
  const int descriptor = open_file(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (descriptor < 0 || ::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return descriptor;
  ::close(descriptor);
  return -1;
}

Error unmoved(const std::string& path, const std::string& why) {
  return {Code::kUnwritable, printable(path) + ": cannot be replaced: " + why};
}

Status move_file(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error) return unmoved(to, error.message());
  return {};
}

}  // namespace

ReplayOutput::ReplayOutput(const DumpConfig& config, Existing existing, std::uint64_t process)
    : config_(config), existing_(existing), path_(config.path) {
  if (existing == Existing::kReplace) path_.append("/").append(kHiddenPrefix).append(std::to_string(process));
}

ReplayOutput::~ReplayOutput() {
  if (existing_ == Existing::kReplace) remove_folder(path_);
  if (lock_ >= 0) ::close(lock_);
}

// Creates the replay's folder, and removes the folders of killed processes: nobody holds a lock on them. On file
// systems without locks on folders, all folders stay.
void ReplayOutput::take_folder() {
  if (lock_ >= 0) return;
  remove_folder(path_);  // left by a killed process with the same number
  std::vector<Error> ignored;
  for (const FolderEntry& entry : entries_of(config_.path, ignored)) {
    if (!entry.is_folder || !fs::path(entry.path).filename().string().starts_with(kHiddenPrefix)) continue;
    const int lock = locked(entry.path);
    if (lock < 0) continue;
    remove_folder(entry.path);
    ::close(lock);
  }
  if (!make_folders(path_)) lock_ = locked(path_);  // on failure the session reports why it cannot write
}

Status ReplayOutput::check(const std::string& folder, const std::string& source_folder) {
  if (!checked_.emplace(folder, source_folder).second) return {};
  const OutputForm& form = *config_.form;
  const std::string rows = folder + "/" + form.rows_file(), inner = form.tensor_folder();
  const std::string tensors = inner.empty() ? folder : folder + "/" + inner;
  std::error_code ignored;
  if (config_.saves_tensors() && fs::equivalent(tensors, source_folder, ignored)) {
    return Error{Code::kInvalid, printable(tensors) +
                                     ": the replay would write over the tensors that it reads; "
                                     "let it write below another folder"};
  }
  if (existing_ == Existing::kReplace) take_folder();
  if (existing_ == Existing::kReplace || (existing_ == Existing::kAppend && form.can_append())) return {};
  std::string path;
  if (config_.saves_statistics() && is_there(rows)) path = rows;
  if (existing_ == Existing::kAppend && !path.empty()) {
    return Error{Code::kInvalid, printable(path) + ": a file of this form cannot be added to, only replaced"};
  }
  if (existing_ == Existing::kAppend) return {};
  if (path.empty() && config_.saves_tensors()) path = tensor_file_in(tensors);
  if (path.empty()) return {};
  return Error{Code::kUnwritable, printable(path) + ": is there already, and nothing is written"};
}

Status ReplayOutput::finish() {
  if (existing_ != Existing::kReplace || !is_there(path_)) return {};
  std::vector<std::string> folders{path_};
  std::vector<Error> faults;
  for (std::size_t i = 0; i < folders.size(); ++i) {
    for (const FolderEntry& entry : entries_of(folders[i], faults)) {
      if (entry.is_folder) folders.push_back(entry.path);
    }
  }
  if (!faults.empty()) return unmoved(config_.path, faults.front().message);
  for (const std::string& from : folders) {
    if (Status moved = move_folder(from, config_.path + from.substr(path_.size())); !moved) return moved;
  }
  return {};
}

// Moves the files of one folder. A tensor with a name that is too
// long keeps its number from an earlier mapping.csv.
Status ReplayOutput::move_folder(const std::string& from, const std::string& to) {
  std::vector<std::string> names;
  std::vector<Error> faults;
  std::error_code ignored;
  for (const FolderEntry& entry : entries_of(from, faults)) {
    std::string name = fs::path(entry.path).filename();
    if (!entry.is_folder && name != kMappingFile) names.push_back(std::move(name));
  }
  const auto written = read_mapping(from), earlier = read_mapping(to);
  if (!faults.empty()) return unmoved(to, faults.front().message);
  if (!written) return written.error();
  if (!earlier) return earlier.error();
  if (names.empty()) return {};
  if (const auto unmade = make_folders(to)) {
    return unmoved(to, "the folder " + printable(unmade->folder) +
                           " cannot be made: " + std::generic_category().message(unmade->error));
  }

  std::map<std::string, std::string> number_of, number_in_place;  // by long name; by the tensor's number in `from`
  std::string mapping;
  for (const auto& [number, name] : *earlier) {
    if (is_number(number)) number_of[name] = number;  // a mapping.csv from elsewhere may contain anything
    mapping += mapping_line(number, name) + "\n";
  }
  for (const auto& [number, name] : *written) {
    std::string& kept = number_of[name];
    if (kept.empty()) {
      kept = is_there(to + "/" + number) ? number_for(to, name) : number;
      mapping += mapping_line(kept, name) + "\n";
    }
    number_in_place[number] = kept;
  }
  // mapping.csv is written first: a line without its file is harmless, a file with a number but no line has lost its
  // name.
  if (written->size() != 0) {
    if (Status saved = write_whole_file(to + "/" + kMappingFile, mapping); !saved) return saved;
  }
  // Else rows of an earlier dump with other columns would stay beside the new ones.
  if (std::ranges::any_of(names, is_statistic_csv)) {
    for (const FolderEntry& entry : entries_of(to, faults)) {
      const std::string name = fs::path(entry.path).filename();
      if (!entry.is_folder && is_statistic_csv(name) && !std::ranges::count(names, name))
        fs::remove(entry.path, ignored);
    }
  }
  for (const std::string& name : names) {
    const auto mapped = number_in_place.find(name);
    const std::string& place = mapped == number_in_place.end() ? name : mapped->second;
    if (Status moved = move_file(from + "/" + name, to + "/" + place); !moved) return moved;
  }
  return {};
}

}  // namespace tensorstat
