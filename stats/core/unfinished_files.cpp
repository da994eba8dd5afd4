#include "stats/core/unfinished_files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tensorstat {

void remove_unfinished_files(const std::string& folder) noexcept {
  // A link leads to a folder that others may use for something else.
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  DIR* const open_folder = descriptor < 0 ? nullptr : ::fdopendir(descriptor);
  if (open_folder == nullptr) {
    if (descriptor >= 0) ::close(descriptor);
    return;
  }
  while (const dirent* entry = ::readdir(open_folder)) {
    if (!std::string_view(entry->d_name).starts_with(kUnfinishedPrefix)) continue;
    const int file = ::openat(dirfd(open_folder), entry->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) continue;
    struct stat now;
    const bool is_ours = ::fstat(file, &now) == 0 && S_ISREG(now.st_mode) && now.st_uid == ::geteuid();
    if (is_ours && ::flock(file, LOCK_EX | LOCK_NB) == 0) {
      ::unlinkat(dirfd(open_folder), entry->d_name, 0);
    }
    ::close(file);
  }
  ::closedir(open_folder);
}

}  // namespace tensorstat
