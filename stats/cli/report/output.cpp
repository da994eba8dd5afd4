#include "stats/cli/report/output.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "stats/base/printable.hpp"
#include "stats/cli/exit_status.hpp"
#include "stats/files/io/open_file.hpp"

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

// Opens, writes and closes the file. Returns 0 or errno. If `before` is given, the file gets its owner and mode.
int write_file(const std::string& path, int flags, std::string_view text, bool sync, const struct stat* before) {
  const int descriptor = open_file(path.c_str(), O_WRONLY | O_CREAT | flags, before ? S_IRUSR | S_IWUSR : 0666);
  if (descriptor < 0) return errno;
  bool is_done = write_all(descriptor, text);
  if (is_done && before != nullptr) {
    // Only root may change the owner. For everybody else the new file is their own.
    [[maybe_unused]] const int given = ::fchown(descriptor, before->st_uid, before->st_gid);
    is_done = ::fchmod(descriptor, before->st_mode & 0777) == 0;
  }
  is_done = is_done && (!sync || ::fsync(descriptor) == 0);
  const int error = is_done ? 0 : errno;
  return ::close(descriptor) != 0 && error == 0 ? errno : error;
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
    const int fault = write_file(path_, 0, held_, false, nullptr);
    return fault == 0 ? Status() : unwritable(path_, fault);
  }
  // Do not replace a file that may not be written, even if its folder allows that.
  if (exists && ::faccessat(AT_FDCWD, path_.c_str(), W_OK, AT_EACCESS) != 0) return unwritable(path_, errno);
  fs::path target = exists ? fs::canonical(path_, error) : fs::path(path_);
  if (error) target = path_;
  std::string hidden = ".";
  hidden.append(target.filename().string()).append(".").append(std::to_string(::getpid()));
  const fs::path beside = target.parent_path() / hidden;
  int fault = write_file(beside, O_EXCL, held_, is_synced_, exists ? &before : nullptr);
  if (fault == 0 && ::rename(beside.c_str(), target.c_str()) != 0) fault = errno;
  if (fault == 0) return {};
  if (fault != EEXIST) ::unlink(beside.c_str());
  return unwritable(path_, fault);
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
