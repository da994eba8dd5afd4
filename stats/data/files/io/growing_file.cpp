#include "stats/data/files/io/growing_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "stats/core/base/printable.hpp"
#include "stats/data/files/io/file_size_signal.hpp"
#include "stats/data/files/io/open_file.hpp"

namespace tensorstat {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 16;

Error unwritable(const std::string& path, int error) {
  return {Code::kUnwritable, printable(path) + ": cannot be written: " + std::generic_category().message(error)};
}

}  // namespace

Result<GrowingFile> GrowingFile::create(std::string path) {
  const int file = open_file(path.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0666);
  if (file < 0) return unwritable(path, errno);
  return GrowingFile(std::move(path), file);
}

GrowingFile::GrowingFile(GrowingFile&& other) noexcept
    : path_(std::move(other.path_)), held_(std::move(other.held_)), file_(std::exchange(other.file_, -1)) {}

GrowingFile::~GrowingFile() {
  if (file_ >= 0) ::close(file_);
}

Status GrowingFile::write(std::string_view text) {
  held_ += text;
  return held_.size() < kBufferBytes ? Status() : flush();
}

Status GrowingFile::flush() {
  WithoutFileSizeSignal guard;
  for (std::string_view rest = held_; !rest.empty();) {
    const ssize_t written = ::write(file_, rest.data(), rest.size());
    if (written > 0) {
      rest.remove_prefix(static_cast<std::size_t>(written));
    } else if (written == 0 || errno != EINTR) {
      const int error = written == 0 ? ENOSPC : errno;
      if (error == EFBIG) guard.take();
      return unwritable(path_, error);
    }
  }
  held_.clear();
  return {};
}

Status GrowingFile::close() {
  if (Status flushed = flush(); !flushed) return flushed;
  if (::close(std::exchange(file_, -1)) != 0) return unwritable(path_, errno);
  return {};
}

}  // namespace tensorstat
