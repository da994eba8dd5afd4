#include "stats/show/cli/staged_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "stats/core/base/printable.hpp"
#include "stats/core/base/unfinished_files.hpp"
#include "stats/data/files/io/folders.hpp"
#include "stats/data/files/io/free_name.hpp"
#include "stats/data/files/io/open_file.hpp"

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

// Opens and locks a folder of this user. -1 if it is not such a folder, or if somebody else holds the lock.
int locked(const std::string& path) {
  const int folder = open_file(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);
  struct stat facts;
  const bool is_ours = folder >= 0 && ::fstat(folder, &facts) == 0 && facts.st_uid == ::geteuid();
  if (is_ours && ::flock(folder, LOCK_EX | LOCK_NB) == 0) return folder;
  const int error = errno;
  if (folder >= 0) ::close(folder);
  errno = error;
  return -1;
}

void remove_left_folders(const fs::path& parent, std::string_view ending) {
  std::vector<Error> ignored;
  for (const FolderEntry& entry : entries_of(parent.empty() ? "." : parent.string(), ignored)) {
    if (!entry.is_folder || !is_unfinished_name(fs::path(entry.path).filename().string(), ending)) continue;
    const int lock = locked(entry.path);
    if (lock < 0) continue;
    remove_folder(entry.path);
    ::close(lock);
  }
}

// One call for all files, because there may be thousands.
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
  if (!whole.has_filename()) whole = whole.parent_path();  // removes a slash at the end
  if (is_in_the_way(whole)) {
    return Error{Code::kUnwritable, printable(target) + ": is there already, and nothing is written; name another"};
  }
  const auto unmade = [&](const std::string& folder, int error) {
    return unwritable(target,
                      "the folder " + printable(folder) + " cannot be made: " + std::generic_category().message(error));
  };
  const fs::path parent = whole.parent_path();
  if (const auto fault = parent.empty() ? std::nullopt : make_folders(parent))
    return unmade(fault->folder, fault->error);
  const std::string ending = "-" + whole.filename().string().substr(0, 200);
  remove_left_folders(parent, ending);
  // The name can be taken: another process may have the same number in another container. The folder can vanish before
  // it is locked: another process may take it for an abandoned one. Then try again.
  constexpr int kMostTries = 100;
  for (int i = 0;; ++i) {
    std::string hidden(kUnfinishedPrefix);
    hidden.append(std::to_string(::getpid())).append(i == 0 ? "" : "." + std::to_string(i)).append(ending);
    const std::string path = parent / hidden;
    if (::mkdir(path.c_str(), 0777) != 0) {
      if (errno != EEXIST || i == kMostTries) return unmade(path, errno);
      continue;
    }
    const int lock = locked(path);  // -1 also if the file system has no locks
    if (lock < 0 && errno == EWOULDBLOCK) continue;
    struct stat made;
    if (::stat(path.c_str(), &made) == 0 || i == kMostTries) return StagedFolder(path, whole, lock);
    if (lock >= 0) ::close(lock);
  }
}

StagedFolder::StagedFolder(StagedFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), target_(std::move(other.target_)), lock_(std::exchange(other.lock_, -1)) {}

StagedFolder::~StagedFolder() {
  if (!path_.empty()) remove_folder(path_);
  if (lock_ >= 0) ::close(lock_);
}

RemovedOnSignal::RemovedOnSignal() {
  sigemptyset(&signals_);
  for (const int each : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE}) {
    struct sigaction now;
    if (::sigaction(each, nullptr, &now) != 0 || now.sa_handler == SIG_IGN) continue;
    sigaddset(&signals_, each);
    wakes_ = each;
  }
  ::pthread_sigmask(SIG_BLOCK, &signals_, &before_);
}

void RemovedOnSignal::guard(std::string path) {
  path_ = std::move(path);
  if (wakes_ != 0) waiting_ = std::thread([this] { wait(); });
}

RemovedOnSignal::~RemovedOnSignal() {
  if (waiting_.joinable()) {
    is_over_ = true;
    ::pthread_kill(waiting_.native_handle(), wakes_);
    waiting_.join();
  }
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void RemovedOnSignal::wait() {
  int caught = 0;
  if (::sigwait(&signals_, &caught) != 0 || is_over_) return;
  // The main thread still creates files in the folder, as fast as this one removes them. It ends after its last file,
  // or once the folder is gone.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  std::error_code ignored;
  while (fs::exists(path_, ignored) && std::chrono::steady_clock::now() < deadline) remove_folder(path_);
  std::signal(caught, SIG_DFL);
  ::kill(::getpid(), caught);
  ::pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
}

Status StagedFolder::place(const std::string& only_file) {
  if (!sync_file_system_of(path_)) return unwritable(target_, std::generic_category().message(errno));
  // A file that appeared at the target meanwhile is not replaced. rename() replaces an empty folder.
  if (!only_file.empty()) {
    const int error = move_to_free_name(path_ + "/" + only_file, target_);
    return error == 0 ? Status() : unwritable(target_, std::generic_category().message(error));
  }
  if (std::rename(path_.c_str(), target_.c_str()) != 0)
    return unwritable(target_, std::generic_category().message(errno));
  path_.clear();
  return {};
}

}  // namespace tensorstat::cli
