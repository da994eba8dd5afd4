#include "stats/job/alerts/ring_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "stats/core/base/printable.hpp"
#include "stats/core/base/unfinished_files.hpp"
#include "stats/data/files/io/file_size_signal.hpp"
#include "stats/data/files/io/free_name.hpp"
#include "stats/data/files/io/open_file.hpp"

namespace tensorstat {
namespace {

constexpr int kMostRings = 1000, kMostOldRings = 8, kMostTries = 100;
constexpr int kRingFlags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;

std::string ring_name(const std::string& folder, int number, std::string_view ending) {
  return (folder + "/last_steps" + (number == 1 ? "" : "_" + std::to_string(number))).append(ending);
}

// Readers take the lock for a moment, to see whether the process lives.
bool try_lock(int file) {
  constexpr int kMostLooks = 5;
  for (int i = 0; i < kMostLooks; ++i) {
    if (i != 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
    if (::flock(file, LOCK_EX | LOCK_NB) == 0) return true;
    if (errno != EWOULDBLOCK && errno != EINTR) return false;
  }
  return false;
}

bool has_name(int file, const std::string& path) {
  struct stat opened, named;
  return ::fstat(file, &opened) == 0 && ::lstat(path.c_str(), &named) == 0 && opened.st_dev == named.st_dev &&
         opened.st_ino == named.st_ino;
}

bool move_to_old(const std::string& folder, const std::string& path) {
  std::string oldest;
  timespec oldest_time{};
  for (int number = 1; number <= kMostOldRings; ++number) {
    const std::string old = ring_name(folder, number, ".old.ring");
    const int error = move_to_free_name(path, old);
    if (error == 0) return true;
    struct stat facts;
    if (error != EEXIST || ::lstat(old.c_str(), &facts) != 0) continue;
    const timespec time = facts.st_mtim;
    const bool is_older =
        time.tv_sec < oldest_time.tv_sec || (time.tv_sec == oldest_time.tv_sec && time.tv_nsec < oldest_time.tv_nsec);
    if (oldest.empty() || is_older) oldest = old, oldest_time = time;
  }
  return !oldest.empty() && std::rename(path.c_str(), oldest.c_str()) == 0;
}

// Moves away what a dead process left. False: a living process has the name, or it cannot be known.
bool make_way(const std::string& folder, const std::string& path) {
  const OwnFile there(open_file(path.c_str(), kRingFlags));
  if (!there.is_open()) return errno == ENOENT;
  const int file = there.descriptor();
  if (!try_lock(file)) return false;
  return !has_name(file, path) || move_to_old(folder, path);
}

}  // namespace

RingFile::RingFile(RingFile&& other) noexcept { *this = std::move(other); }

RingFile& RingFile::operator=(RingFile&& other) noexcept {
  std::swap(folder_, other.folder_);
  std::swap(path_, other.path_);
  std::swap(is_hidden_, other.is_hidden_);
  std::swap(file_, other.file_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(is_limited_, other.is_limited_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

RingFile::~RingFile() {
  if (is_hidden_) ::unlink(path_.c_str());
}

Status RingFile::fault(int error) const {
  return Error{Code::kUnwritable, printable(path_) + ": " + std::strerror(error) + "; the last steps are not kept"};
}

Result<RingFile> RingFile::create(const std::string& folder, std::uint64_t bytes) {
  static std::atomic<std::uint64_t> counter{0};
  WithoutFileSizeSignal guard;
  RingFile made;
  made.folder_ = folder;
  made.bytes_ = bytes;
  for (int tries = 0;; ++tries) {
    made.path_ = folder + "/" + std::string(kUnfinishedPrefix) + std::to_string(::getpid()) + "-ring-" +
                 std::to_string(counter++);
    made.file_ = OwnFile(open_file(made.path_.c_str(), kRingFlags | O_CREAT | O_EXCL, S_IRUSR | S_IWUSR));
    if (!made.file_.is_open() && (errno != EEXIST || tries == kMostTries)) return made.fault(errno).error();
    const OwnFile::Look look = made.file_.look();
    // Without locks in this file system, no other process removes or moves the file.
    const bool is_ours =
        look.descriptor >= 0 && (::flock(look.descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK);
    // Another process may have taken it for one that a killed process left, and removed it before it was locked.
    if (is_ours && made.file_.look().name_count != 0) break;
    if (tries == kMostTries) return made.fault(EBUSY).error();
  }
  made.is_hidden_ = true;
  made.look_at_limit();
  made.descriptor_ = made.file_.descriptor();
  // With its space reserved, the ring can be written on a disk that has become full.
  if (const int error = ::posix_fallocate(made.descriptor_, 0, static_cast<off_t>(bytes))) {
    if (error == EFBIG) guard.take();
    return made.fault(error).error();
  }
  return made;
}

Status RingFile::claim() {
  for (int number = 1; number <= kMostRings; ++number) {
    const std::string path = ring_name(folder_, number, ".ring");
    for (int tries = 0; tries < kMostTries; ++tries) {
      const int error = move_to_free_name(path_, path);
      if (error == 0) {
        path_ = path;
        is_hidden_ = false;
        return {};
      }
      if (error != EEXIST) return fault(error);
      if (!make_way(folder_, path)) break;
    }
  }
  return Error{Code::kUnwritable, printable(ring_name(folder_, 1, ".ring")) +
                                      ": other processes write this and its successors; the last steps are not kept. "
                                      "Give each process a rank or a path of its own"};
}

Status RingFile::take_name_of(const RingFile& old) {
  const int file = old.file_.descriptor();
  if (file < 0 || !has_name(file, old.path_)) return claim();
  if (std::rename(path_.c_str(), old.path_.c_str()) != 0) return fault(errno);
  path_ = old.path_;
  is_hidden_ = false;
  return {};
}

Status RingFile::check() {
  OwnFile::Look look = file_.look();
  if (look.descriptor < 0) {
    OwnFile again(open_file(path_.c_str(), kRingFlags));
    if (again.is_same_as(file_) && try_lock(again.descriptor())) file_ = std::move(again);
    look = file_.look();
  }
  descriptor_ = look.descriptor;
  const char* const what = look.descriptor < 0        ? "the program has closed its descriptor"
                           : look.name_count == 0     ? "somebody has removed it"
                           : look.size_bytes < bytes_ ? "somebody has cut it"
                                                      : nullptr;
  if (what == nullptr) return {};
  return Error{Code::kUnreadable, printable(path_) + ": " + what};
}

void RingFile::look_at_limit() {
  rlimit limit;
  is_limited_ = ::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
}

Status RingFile::write(std::uint64_t offset_bytes, std::string_view bytes) {
  std::optional<WithoutFileSizeSignal> guard;
  if (is_limited_) guard.emplace();
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset_bytes));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      const int error = written == 0 ? ENOSPC : errno;
      if (error == EFBIG && guard) guard->take();
      return fault(error);
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
    offset_bytes += static_cast<std::uint64_t>(written);
  }
  return {};
}

Status RingFile::read(std::uint64_t offset_bytes, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t got = ::pread(descriptor_, out.data(), out.size(), static_cast<off_t>(offset_bytes));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Error{Code::kUnreadable, printable(path_) + ": cannot be read"};
    out = out.subspan(static_cast<std::size_t>(got));
    offset_bytes += static_cast<std::uint64_t>(got);
  }
  return {};
}

}  // namespace tensorstat
