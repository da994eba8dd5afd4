#include "stats/cli/output.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace tensorstat::cli {
namespace {

namespace fs = std::filesystem;

Error unwritable(const std::string& where, int error) {
  return {Code::kUnwritable,
          where + ": cannot be written: " + std::generic_category().message(error)};
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

// Opens, writes and closes; 0, or what the system said.
int write_file(const std::string& path, int flags, std::string_view text, bool sync) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666);
  if (descriptor < 0) return errno;
  const bool is_written = write_all(descriptor, text) && (!sync || ::fsync(descriptor) == 0);
  const int error = is_written ? 0 : errno;
  return ::close(descriptor) != 0 && error == 0 ? errno : error;
}

}  // namespace

Output::Output(std::string path) : path_(std::move(path)) {}

Status Output::write(std::string_view text) {
  if (!path_.empty()) {
    held_ += text;
    return {};
  }
  return write_all(STDOUT_FILENO, text) ? Status() : unwritable("stdout", errno);
}

Status Output::close() {
  if (path_.empty()) return {};
  std::error_code error;
  // A link is followed, so that the file it names is the one replaced; a pipe or /dev/stdout is
  // written as it is.
  fs::path target = fs::weakly_canonical(path_, error);
  if (error) target = path_;
  const fs::file_status status = fs::status(target, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    const int fault = write_file(path_, 0, held_, false);
    return fault == 0 ? Status() : unwritable(path_, fault);
  }
  std::string hidden = ".";
  hidden.append(target.filename().string()).append(".").append(std::to_string(::getpid()));
  const fs::path beside = target.parent_path() / hidden;
  int fault = write_file(beside, O_EXCL, held_, true);
  if (fault == 0 && ::rename(beside.c_str(), target.c_str()) != 0) fault = errno;
  if (fault == 0) return {};
  if (fault != EEXIST) ::unlink(beside.c_str());
  return unwritable(path_, fault);
}

}  // namespace tensorstat::cli
