#include "stats/files/random_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "stats/files/open_file.hpp"
#include "stats/files/shown.hpp"

namespace tensorstat {
namespace {

std::string system_words(int error) { return std::generic_category().message(error); }

std::uint64_t microseconds(const timespec& time) {
  const std::int64_t us = std::int64_t{time.tv_sec} * 1'000'000 + time.tv_nsec / 1'000;
  return us > 0 ? us : 0;
}

}  // namespace

Result<RandomFile> RandomFile::open(std::string path) {
  RandomFile file;
  file.descriptor_ = open_file(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY);
  struct stat facts;
  if (file.descriptor_ < 0 || ::fstat(file.descriptor_, &facts) != 0) {
    return Error{Code::kUnreadable, printable(path) + ": cannot be opened: " + system_words(errno)};
  }
  if (!S_ISREG(facts.st_mode)) {
    return Error{Code::kUnreadable,
                 printable(path) + (S_ISDIR(facts.st_mode) ? ": is a directory" : ": is no regular file")};
  }
  file.path_ = std::move(path);
  file.size_bytes_ = facts.st_size;
  file.modified_us_ = microseconds(facts.st_mtim);
  return file;
}

RandomFile::RandomFile(RandomFile&& other) noexcept { *this = std::move(other); }

RandomFile& RandomFile::operator=(RandomFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_bytes_, other.size_bytes_);
  std::swap(modified_us_, other.modified_us_);
  return *this;
}

RandomFile::~RandomFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status RandomFile::read_at(std::uint64_t offset_bytes, std::span<std::byte> out) const {
  constexpr std::size_t kMostBytes = std::size_t{1}
                                     << 30;  // Linux reads no more than 2 GiB at once
  while (!out.empty()) {
    const ssize_t got =
        ::pread(descriptor_, out.data(), std::min(out.size(), kMostBytes), offset_bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      return Error{Code::kUnreadable, printable(path_) + ": cannot be read at byte " +
                                          std::to_string(offset_bytes) + ": " +
                                          system_words(errno)};
    }
    if (got == 0) {
      return Error{Code::kUnreadable, printable(path_) + ": was cut short while being read: it had " +
                                          std::to_string(size_bytes_) + " bytes, and has no byte " +
                                          std::to_string(offset_bytes) + " now"};
    }
    offset_bytes += got;
    out = out.subspan(got);
  }
  return {};
}

}  // namespace tensorstat
