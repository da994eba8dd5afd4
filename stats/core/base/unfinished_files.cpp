#include "stats/core/base/unfinished_files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tensorstat {

bool is_unfinished_name(std::string_view name, std::string_view ending) {
  if (!name.starts_with(kUnfinishedPrefix) || !name.ends_with(ending)) return false;
  name.remove_prefix(kUnfinishedPrefix.size());
  if (name.size() <= ending.size()) return false;
  name.remove_suffix(ending.size());
  return name.find_first_not_of("0123456789.") == name.npos;
}

void remove_unfinished_files(const std::string& folder) noexcept {
  DIR* const open_folder = ::opendir(folder.c_str());
  if (open_folder == nullptr) return;
  // Do not follow a link: the folder behind it may belong to somebody else.
  struct stat named, opened;
  const bool is_link = ::lstat(folder.c_str(), &named) != 0 || ::fstatat(dirfd(open_folder), ".", &opened, 0) != 0 ||
                       named.st_dev != opened.st_dev || named.st_ino != opened.st_ino;
  while (const dirent* entry = is_link ? nullptr : ::readdir(open_folder)) {
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
