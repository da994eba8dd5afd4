#include "stats/cli/staged_folder.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "stats/files/folders.hpp"
#include "stats/files/open_file.hpp"
#include "stats/files/shown.hpp"

namespace tensorstat::cli {
namespace {

namespace fs = std::filesystem;

Error unwritable(const std::string& path, const std::string& why) {
  return {Code::kUnwritable, printable(path) + ": cannot be written: " + why};
}

bool is_in_the_way(const std::string& target) {
  std::error_code ignored;
  const auto status = fs::symlink_status(target, ignored);
  if (status.type() == fs::file_type::not_found) return false;
  return status.type() != fs::file_type::directory || !fs::is_empty(target, ignored);
}

// One call for all files: there may be one for each run of an operator.
bool sync_file_system_of(const std::string& folder) {
  const int descriptor = open_file(folder.c_str(), O_RDONLY | O_DIRECTORY, 0);
  if (descriptor < 0) return false;
  const bool is_done = ::syncfs(descriptor) == 0;
  ::close(descriptor);
  return is_done;
}

}  // namespace

Result<StagedFolder> StagedFolder::open(const std::string& target) {
  fs::path whole = fs::path(target).lexically_normal();
  if (!whole.has_filename()) whole = whole.parent_path();  // behind a slash at the end
  if (is_in_the_way(whole)) {
    return Error{Code::kUnwritable, printable(target) + ": is there already, and nothing is written; name another"};
  }
  std::string hidden = ".new-";
  hidden.append(std::to_string(::getpid())).append("-").append(whole.filename().string().substr(0, 200));
  const std::string path = whole.parent_path() / hidden;
  remove_folder(path);  // a process that was killed had this number and left its files
  if (const auto unmade = make_folders(path)) {
    return unwritable(target, "the folder " + printable(unmade->folder) + " cannot be made: " +
                                  std::generic_category().message(unmade->error));
  }
  return StagedFolder(path, whole);
}

StagedFolder::StagedFolder(StagedFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), target_(std::move(other.target_)) {}

StagedFolder::~StagedFolder() {
  if (!path_.empty()) remove_folder(path_);
}

Status StagedFolder::place(const std::string& only_file) {
  if (!sync_file_system_of(path_)) return unwritable(target_, std::generic_category().message(errno));
  const std::string from = only_file.empty() ? path_ : path_ + "/" + only_file;
  // A link has no name to be renamed to: what came there meanwhile is not replaced. Folders are replaced where empty.
  const bool is_placed = only_file.empty() ? std::rename(from.c_str(), target_.c_str()) == 0
                                           : ::link(from.c_str(), target_.c_str()) == 0;
  if (!is_placed) return unwritable(target_, std::generic_category().message(errno));
  if (only_file.empty()) path_.clear();
  return {};
}

}  // namespace tensorstat::cli
