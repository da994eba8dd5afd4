#include "stats/data/files/io/open_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace tensorstat {

int open_file(const char* path, int flags, mode_t mode) {
  const int low = ::open(path, flags | O_CLOEXEC, mode);
  if (low < 0 || low > STDERR_FILENO) return low;
  const int high = ::fcntl(low, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int error = errno;
  ::close(low);
  errno = error;
  return high;
}

}  // namespace tensorstat
