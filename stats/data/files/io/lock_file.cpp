#include "stats/data/files/io/lock_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "stats/data/files/io/open_file.hpp"

namespace tensorstat {
namespace {

constexpr int kLockFlags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;

OwnFile opened(const std::string& path, int more_flags) {
  return OwnFile(open_file(path.c_str(), kLockFlags | more_flags, S_IRUSR | S_IWUSR));
}

}  // namespace

std::optional<LockFile> LockFile::take(const std::string& path) {
  constexpr int kMostTries = 100;
  for (int tries = 0; tries < kMostTries; ++tries) {
    OwnFile file = opened(path, O_CREAT);
    if (!file.is_open()) break;
    const bool is_locked = ::flock(file.descriptor(), LOCK_EX | LOCK_NB) == 0;
    if (!is_locked && errno == EWOULDBLOCK) return std::nullopt;
    // The one before may have removed it meanwhile.
    if (!is_locked || opened(path, 0).is_same_as(file)) return LockFile(path, std::move(file));
  }
  return LockFile(path, OwnFile());
}

LockFile::~LockFile() {
  // If the program has closed the descriptor, another process may have the lock.
  if (file_.descriptor() >= 0 && opened(path_, 0).is_same_as(file_)) ::unlink(path_.c_str());
}

}  // namespace tensorstat
