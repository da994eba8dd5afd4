#include "stats/show/cli/report/output.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "stats/core/base/printable.hpp"
#include "stats/core/base/unfinished_files.hpp"
#include "stats/data/files/io/folders.hpp"
#include "stats/data/files/io/open_file.hpp"
#include "stats/show/cli/exit_status.hpp"

namespace tensorstat::cli {
namespace {

namespace fs = std::filesystem;

Error unwritable(const std::string& where, int error) {
  return {Code::kUnwritable, printable(where) + ": cannot be written: " + std::generic_category().message(error)};
}

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(written);
  }
  return true;
}

// Writes and closes the file. Returns 0 or errno. If `before` is given, the file gets its owner and mode.
int fill(int descriptor, std::string_view text, bool sync, const struct stat* before) {
  bool is_done = write_all(descriptor, text);
  if (is_done && before != nullptr) {
    // Only root may change the owner. For everybody else the new file is their own.
    [[maybe_unused]] const int given = ::fchown(descriptor, before->st_uid, before->st_gid);
    is_done = ::fchmod(descriptor, before->st_mode & 0777) == 0;
  }
  is_done = is_done && (!sync || ::fsync(descriptor) == 0);
  return is_done ? 0 : errno;
}

int close_with(int descriptor, int fault) { return ::close(descriptor) != 0 && fault == 0 ? errno : fault; }

// A pipe, a device or /dev/stdout.
int write_directly(const std::string& path, std::string_view text) {
  const int descriptor = open_file(path.c_str(), O_WRONLY | O_CREAT, 0666);
  return descriptor < 0 ? errno : close_with(descriptor, fill(descriptor, text, false, nullptr));
}

// The names that a file of -o has until it is complete: ".new-{process}-{target}".
struct HiddenNames {
  explicit HiddenNames(const fs::path& target)
      : folder(target.parent_path().empty() ? "." : target.parent_path().string()),
        ending("-" + target.filename().string().substr(0, 200)) {}

  std::string own() const {
    return (folder + "/").append(kUnfinishedPrefix).append(std::to_string(::getpid())).append(ending);
  }
  const std::string folder, ending;
};

// Removes what killed processes left for the same target. Living ones hold the lock of their file.
void remove_left_behind(const HiddenNames& names) {
  std::vector<Error> ignored;
  for (const FolderEntry& entry : entries_of(names.folder, ignored)) {
    if (entry.is_folder || !is_unfinished_name(fs::path(entry.path).filename().string(), names.ending)) continue;
    const int file = open_file(entry.path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) continue;
    struct stat facts;
    const bool is_ours = ::fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_uid == ::geteuid();
    if (is_ours && ::flock(file, LOCK_EX | LOCK_NB) == 0) ::unlink(entry.path.c_str());
    ::close(file);
  }
}

// Gives the complete file its name. 0 or errno.
int place(const std::string& hidden, const fs::path& target) {
  if (::rename(hidden.c_str(), target.c_str()) == 0) return 0;
  const int fault = errno;
  ::unlink(hidden.c_str());
  return fault;
}

enum class Naming { kAtTheEnd, kAtOnce };
constexpr int kCannotBeNamed = -1;

// Puts a new file in the place of the target, or leaves it as it is. Returns 0 or errno; kCannotBeNamed if the system
// has no files without a name.
int replace(const fs::path& target, const HiddenNames& names, Naming naming, std::string_view text, bool sync,
            const struct stat* before) {
  const bool is_named = naming == Naming::kAtOnce;
  const std::string hidden = names.own();
  const int flags = is_named ? O_CREAT | O_EXCL : O_TMPFILE;
  const int file = open_file((is_named ? hidden : names.folder).c_str(), O_WRONLY | flags,
                             before != nullptr ? S_IRUSR | S_IWUSR : 0666);
  if (file < 0) return is_named ? errno : kCannotBeNamed;
  [[maybe_unused]] const int locked = ::flock(file, LOCK_EX | LOCK_NB);
  // The second descriptor keeps the lock until the file has its name. The first is closed before that, so that its
  // error is known.
  const int lock = ::fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  int fault = close_with(file, fill(file, text, sync, before));
  if (fault == 0 && !is_named) {
    const std::string link = "/proc/self/fd/" + std::to_string(lock);
    const bool is_linked = ::linkat(AT_FDCWD, link.c_str(), AT_FDCWD, hidden.c_str(), AT_SYMLINK_FOLLOW) == 0;
    if (!is_linked) fault = errno == EEXIST ? EEXIST : kCannotBeNamed;
  }
  if (fault == 0) {
    fault = place(hidden, target);
  } else if (is_named) {
    ::unlink(hidden.c_str());
  }
  if (lock >= 0) ::close(lock);
  return fault;
}

// Without a name while it is written, a file leaves nothing behind whatever signal ends the process. What stays after a
// kill between the two calls of naming is removed by the next run.
int replace(const fs::path& target, std::string_view text, bool sync, const struct stat* before) {
  const HiddenNames names(target);
  remove_left_behind(names);
  const int fault = replace(target, names, Naming::kAtTheEnd, text, sync, before);
  return fault == kCannotBeNamed ? replace(target, names, Naming::kAtOnce, text, sync, before) : fault;
}

}  // namespace

Output::Output(std::string path, bool is_synced)
    : path_(std::move(path)), is_terminal_(path_.empty() && ::isatty(STDOUT_FILENO) == 1), is_synced_(is_synced) {}

Status Output::write(std::string_view text) {
  constexpr std::size_t kMostHeldBytes = std::size_t{64} << 10;
  held_ += text;
  return is_terminal_ || held_.size() >= kMostHeldBytes ? flush() : Status();
}

Status Output::flush() {
  if (!path_.empty() || held_.empty()) return {};
  const std::string text = std::exchange(held_, {});
  return write_all(STDOUT_FILENO, text) ? Status() : unwritable("stdout", errno);
}

Status Output::close() {
  if (path_.empty()) return flush();
  // Follow a link, so that its target is replaced. Write a pipe or /dev/stdout directly.
  std::error_code error;
  struct stat before;
  const bool exists = ::stat(path_.c_str(), &before) == 0;
  if (!exists && fs::is_symlink(fs::symlink_status(path_, error))) {
    return Error{Code::kUnwritable, printable(path_) + ": cannot be written: it is a link to " +
                                        printable(fs::read_symlink(path_, error).string()) + ", which does not exist"};
  }
  if (exists && !S_ISREG(before.st_mode)) {
    const int fault = write_directly(path_, held_);
    return fault == 0 ? Status() : unwritable(path_, fault);
  }
  // Do not replace a file that may not be written, even if its folder allows that.
  if (exists && ::faccessat(AT_FDCWD, path_.c_str(), W_OK, AT_EACCESS) != 0) return unwritable(path_, errno);
  fs::path target = exists ? fs::canonical(path_, error) : fs::path(path_);
  if (error) target = path_;
  const int fault = replace(target, held_, is_synced_, exists ? &before : nullptr);
  return fault == 0 ? Status() : unwritable(path_, fault);
}

int write_out(const std::string& path, std::string_view text, int exit, Console& console, bool is_synced) {
  Output output(path, is_synced);
  Status written = output.write(text);
  if (written) written = output.close();
  if (written) return exit;
  console.say(written.error().message);
  return kNotWritten;
}

}  // namespace tensorstat::cli
