#include "stats/data/files/io/free_name.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "stats/data/files/io/open_file.hpp"

namespace tensorstat {
namespace {

int rename_over_own_file(const std::string& from, const std::string& to) {
  const int holder = open_file(to.c_str(), O_WRONLY | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR);
  if (holder < 0) return errno;
  ::close(holder);
  if (std::rename(from.c_str(), to.c_str()) == 0) return 0;
  const int error = errno;
  ::unlink(to.c_str());
  return error;
}

}  // namespace

int move_to_free_name(const std::string& from, const std::string& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP) return errno;
  if (::link(from.c_str(), to.c_str()) == 0) {
    ::unlink(from.c_str());
    return 0;
  }
  const bool has_no_links = errno == EPERM || errno == ENOSYS || errno == EOPNOTSUPP;
  return has_no_links ? rename_over_own_file(from, to) : errno;
}

}  // namespace tensorstat
