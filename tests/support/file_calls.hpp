// Intercepts every file call between the program and the kernel. A call can fail, do half of its work, or be the last
// thing that the process does. For tests, in one source file per program.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdio>

enum class FileCall {
  kOpen,
  kStat,
  kLock,
  kRead,
  kWrite,
  kTruncate,
  kSync,
  kMode,
  kClose,
  kRename,
  kSyncFolder,
  kRenameToFree,
  kLink
};

struct Verdict {
  int error = 0;                                          // fail with this errno
  std::size_t most_bytes = static_cast<std::size_t>(-1);  // upper limit for a read or write
  bool die_before = false, die_after = false;             // SIGKILL
};

inline Verdict (*judge_file_call)(FileCall) = nullptr;

template <typename Call>
auto judged(FileCall kind, Call call) -> decltype(call(Verdict{})) {
  const Verdict verdict = judge_file_call == nullptr ? Verdict{} : judge_file_call(kind);
  if (verdict.die_before) kill(getpid(), SIGKILL);
  if (verdict.error != 0) {
    errno = verdict.error;
    return -1;
  }
  const auto result = call(verdict);
  if (verdict.die_after) kill(getpid(), SIGKILL);
  return result;
}

// Not inline: an inline function is a weak symbol. clang's sanitizers are linked first and have weak write() and
// pread(), which would win.
extern "C" {
__attribute__((used)) int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const auto mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : mode_t{0};
  va_end(rest);
  return judged(FileCall::kOpen,
                [&](const Verdict&) { return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode)); });
}
__attribute__((used)) ssize_t write(int file, const void* bytes, size_t count) {
  return judged(FileCall::kWrite, [&](const Verdict& verdict) {
    return static_cast<ssize_t>(syscall(SYS_write, file, bytes, std::min(count, verdict.most_bytes)));
  });
}
__attribute__((used)) ssize_t pwrite(int file, const void* bytes, size_t count, off_t offset) {
  return judged(FileCall::kWrite, [&](const Verdict& verdict) {
    return static_cast<ssize_t>(syscall(SYS_pwrite64, file, bytes, std::min(count, verdict.most_bytes), offset));
  });
}
__attribute__((used)) ssize_t pread(int file, void* bytes, size_t count, off_t offset) {
  return judged(FileCall::kRead, [&](const Verdict& verdict) {
    return static_cast<ssize_t>(syscall(SYS_pread64, file, bytes, std::min(count, verdict.most_bytes), offset));
  });
}
__attribute__((used)) int ftruncate(int file, off_t size) noexcept {
  return judged(FileCall::kTruncate,
                [&](const Verdict&) { return static_cast<int>(syscall(SYS_ftruncate, file, size)); });
}
__attribute__((used)) int flock(int file, int how) noexcept {
  return judged(FileCall::kLock, [&](const Verdict&) { return static_cast<int>(syscall(SYS_flock, file, how)); });
}
__attribute__((used)) int fstat(int file, struct stat* into) noexcept {
  return judged(FileCall::kStat, [&](const Verdict&) { return static_cast<int>(syscall(SYS_fstat, file, into)); });
}
__attribute__((used)) int fsync(int file) {
  struct stat what;
  const bool is_folder = syscall(SYS_fstat, file, &what) == 0 && S_ISDIR(what.st_mode);
  return judged(is_folder ? FileCall::kSyncFolder : FileCall::kSync,
                [&](const Verdict&) { return static_cast<int>(syscall(SYS_fsync, file)); });
}
__attribute__((used)) int fdatasync(int file) {
  return judged(FileCall::kSync, [&](const Verdict&) { return static_cast<int>(syscall(SYS_fdatasync, file)); });
}
__attribute__((used)) int fchmod(int file, mode_t mode) noexcept {
  return judged(FileCall::kMode, [&](const Verdict&) { return static_cast<int>(syscall(SYS_fchmod, file, mode)); });
}
__attribute__((used)) int close(int file) {
  const auto closed = static_cast<int>(syscall(SYS_close, file));  // close() closes even if it fails
  return judged(FileCall::kClose, [&](const Verdict&) { return closed; });
}
__attribute__((used)) int rename(const char* from, const char* to) noexcept {
  return judged(FileCall::kRename, [&](const Verdict&) {
    return static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
  });
}
__attribute__((used)) int renameat2(int folder, const char* from, int to_folder, const char* to,
                                    unsigned flags) noexcept {
  return judged((flags & RENAME_NOREPLACE) != 0 ? FileCall::kRenameToFree : FileCall::kRename, [&](const Verdict&) {
    return static_cast<int>(syscall(SYS_renameat2, folder, from, to_folder, to, flags));
  });
}
__attribute__((used)) int link(const char* from, const char* to) noexcept {
  return judged(FileCall::kLink,
                [&](const Verdict&) { return static_cast<int>(syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0)); });
}
}
