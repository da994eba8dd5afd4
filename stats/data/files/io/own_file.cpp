#include "stats/data/files/io/own_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace tensorstat {

// One system call. fstat() stands in where a sandbox does not know statx().
bool OwnFile::look_at(int descriptor, Identity& identity, Look& look) {
  struct statx facts;
  if (descriptor < 0) return false;
  if (::statx(descriptor, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &facts) == 0) {
    identity = {.device = makedev(facts.stx_dev_major, facts.stx_dev_minor), .inode = facts.stx_ino};
    if ((facts.stx_mask & STATX_BTIME) != 0) {
      identity.birth_ns = std::int64_t{facts.stx_btime.tv_sec} * 1'000'000'000 + facts.stx_btime.tv_nsec;
    }
    look = {descriptor, facts.stx_size, facts.stx_nlink};
    return true;
  }
  struct stat less;
  if (errno == EBADF || ::fstat(descriptor, &less) != 0) return false;
  identity = {.device = less.st_dev, .inode = less.st_ino};
  look = {descriptor, static_cast<std::uint64_t>(less.st_size), less.st_nlink};
  return true;
}

OwnFile::OwnFile(int descriptor) {
  const int before = errno;
  Look look;
  if (look_at(descriptor, identity_, look)) descriptor_ = descriptor;
  errno = before;
}

OwnFile::OwnFile(OwnFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), identity_(other.identity_) {}

OwnFile& OwnFile::operator=(OwnFile&& other) noexcept {
  if (this == &other) return *this;
  // The same number: ours was lost, and the file was opened again.
  if (descriptor_ != other.descriptor_) close();
  descriptor_ = std::exchange(other.descriptor_, -1);
  identity_ = other.identity_;
  return *this;
}

OwnFile::Look OwnFile::look() const {
  Identity now;
  Look look;
  if (look_at(descriptor_, now, look) && now == identity_) return look;
  errno = EBADF;
  return {};
}

bool OwnFile::is_same_as(const OwnFile& other) const {
  return is_open() && other.is_open() && identity_ == other.identity_;
}

int OwnFile::close() {
  if (!is_open()) return 0;
  const int before = errno;
  const int owned = descriptor();
  descriptor_ = -1;
  const int fault = owned >= 0 && ::close(owned) != 0 ? errno : 0;
  errno = before;
  return fault;
}

}  // namespace tensorstat
