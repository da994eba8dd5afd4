#include "stats/files/io/own_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace tensorstat {

bool OwnFile::look_at(int descriptor, Identity& identity) {
  struct stat facts;
  if (descriptor < 0 || ::fstat(descriptor, &facts) != 0) return false;
  identity = {.device = facts.st_dev, .inode = facts.st_ino};
  struct statx more;
  if (::statx(descriptor, "", AT_EMPTY_PATH, STATX_BTIME, &more) == 0 && (more.stx_mask & STATX_BTIME) != 0) {
    identity.birth_ns = std::int64_t{more.stx_btime.tv_sec} * 1'000'000'000 + more.stx_btime.tv_nsec;
  }
  return true;
}

OwnFile::OwnFile(int descriptor) {
  const int before = errno;
  if (look_at(descriptor, identity_)) descriptor_ = descriptor;
  errno = before;
}

OwnFile::OwnFile(OwnFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), identity_(other.identity_) {}

OwnFile& OwnFile::operator=(OwnFile&& other) noexcept {
  if (this == &other) return *this;
  close();
  descriptor_ = std::exchange(other.descriptor_, -1);
  identity_ = other.identity_;
  return *this;
}

int OwnFile::descriptor() const {
  Identity now;
  if (look_at(descriptor_, now) && now == identity_) return descriptor_;
  errno = EBADF;
  return -1;
}

bool OwnFile::is_same_as(const OwnFile& other) const {
  return is_open() && other.is_open() && identity_ == other.identity_;
}

int OwnFile::close() {
  const int owned = descriptor();
  descriptor_ = -1;
  return owned >= 0 && ::close(owned) != 0 ? errno : 0;
}

}  // namespace tensorstat
