#include "stats/data/rows/line_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "stats/core/base/printable.hpp"
#include "stats/data/files/io/file_size_signal.hpp"
#include "stats/data/files/io/folders.hpp"
#include "stats/data/files/io/open_file.hpp"
#include "stats/data/rows/csv/statistic_csv_reader.hpp"
#include "stats/data/rows/names/run_name.hpp"

namespace tensorstat {
namespace {

constexpr int kFlags = O_RDWR | O_APPEND | O_NOCTTY | O_NONBLOCK;
constexpr mode_t kMode = S_IRUSR | S_IWUSR;

std::optional<Dialect> dialect_of_first_row(std::string_view text) {
  RowsRead read;
  const EachRow stop = [](Row&&) { return Status(Error{Code::kInvalid, "enough"}); };
  [[maybe_unused]] const Status ignored = read_statistic_csv({"", text}, stop, read);
  return read.dialect;
}

class FileLock {
 public:
  // Polls, because flock() has no timeout, and a stopped process may hold the lock forever.
  FileLock(int file, std::chrono::milliseconds deadline) : file_(file) {
    using Clock = std::chrono::steady_clock;
    const auto give_up = Clock::now() + deadline;
    auto pause = std::chrono::microseconds(10);
    while (flock(file, LOCK_EX | LOCK_NB) != 0) {
      error_ = errno;
      if (error_ != EWOULDBLOCK && error_ != EINTR) return;
      if (Clock::now() >= give_up) return;
      std::this_thread::sleep_for(pause);
      pause = std::min(2 * pause, std::chrono::microseconds(1000));
    }
    error_ = 0;
  }
  ~FileLock() {
    if (error_ == 0) flock(file_, LOCK_UN);
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  int error() const { return error_; }

 private:
  int file_;
  int error_ = 0;
};

}  // namespace

bool LineFile::close(bool is_finished) noexcept {
  if (!own_.is_open()) return true;
  file_ = own_.descriptor();
  if (file_ < 0 && !open_again()) return options_.sync == Sync::kNever;
  const bool kept = options_.sync == Sync::kNever || fsync(file_) == 0;
  if (!kept) fault("sync", errno);
  if (is_finished && options_.read_only_when_closed && fchmod(file_, S_IRUSR) != 0) fault("make read-only", errno);
  if (const int error = own_.close()) fault("close", error);
  return kept;
}

LineFile::Appended LineFile::append(std::string_view batch, const std::vector<std::size_t>& ends) noexcept try {
  while (open()) {
    bool is_others = false;
    {
      const FileLock lock(file_, options_.lock_deadline * (stalled_ ? 0 : 1));
      stalled_ = lock.error() == EWOULDBLOCK;
      // If the file system has no locks, the mutex still keeps this process's lines whole.
      if (lock.error() != 0) fault("lock", lock.error());
      if (stalled_) return {};
      const auto others = is_of_others(batch);
      if (!others) return {};
      is_others = *others;
      if (!is_others && !was_removed()) return append_locked(batch, ends);
    }
    own_.close();
    if (is_others && !go_to_next_file()) return {};
  }
  return {};
} catch (const std::bad_alloc&) {
  return {};
}

// Whether the file was deleted. Lines written to it would be lost.
bool LineFile::was_removed() const {
  struct stat now;
  return fstat(file_, &now) == 0 && now.st_nlink == 0;
}

LineFile::Appended LineFile::append_locked(std::string_view batch, const std::vector<std::size_t>& ends) {
  struct stat now;
  if (fstat(file_, &now) != 0) return fault("look at", errno), Appended{};
  off_t size = now.st_size;
  if (!repair(size)) return {};
  const off_t start = size;
  if (size == 0 && !options_.header.empty()) {
    if (write_whole(options_.header) != options_.header.size()) {
      cut_to(0);
      return {};
    }
    size = static_cast<off_t>(options_.header.size());
  }
  const std::size_t written = write_whole(batch);
  const auto whole = static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), written) - ends.begin());
  if (written != batch.size()) cut_to(size + static_cast<off_t>(whole == 0 ? 0 : ends[whole - 1]));
  if (options_.sync != Sync::kRow || (sync_row() && sync_name())) return {whole, false};
  // If the sync failed, the lines are removed again, and the next turn writes and syncs them once more.
  return cut_to(start) ? Appended{} : Appended{whole, true};
}

// Whether the file has another heading, or its first row is of another dialect than the first of `batch`. Then a reader
// of the file would take the values of these lines for others. nullopt: it cannot be read.
std::optional<bool> LineFile::is_of_others(std::string_view batch) {
  constexpr std::size_t kMostRowBytes = std::size_t{64} << 10;
  if (options_.header.empty()) return false;
  std::string head(options_.header.size() + (rows_seen_ ? 0 : kMostRowBytes), '\0');
  const ssize_t got = pread(file_, head.data(), head.size(), 0);
  if (got < 0) return fault("read the heading of", errno), std::nullopt;
  head.resize(static_cast<std::size_t>(got));
  head.resize(head.rfind('\n') + 1);  // an unfinished line is removed later; npos + 1 is 0
  if (head.empty()) return false;
  if (!head.starts_with(options_.header)) return true;
  if (rows_seen_ || head.size() == options_.header.size()) return false;
  rows_seen_ = true;
  const auto mine = dialect_of_first_row(options_.header + std::string(batch.substr(0, kMostRowBytes)));
  return mine && dialect_of_first_row(head) != mine;
}

bool LineFile::go_to_next_file() noexcept try {
  constexpr int kMostFiles = 1000;
  if (number_ >= kMostFiles) return fault("find a heading of this run in the successors of", EEXIST), false;
  const std::string before = std::exchange(path_, numbered_path(options_.path, ++number_));
  rows_seen_ = false;
  notices_.warn_once("heading of " + before, before +
                                                 " has rows with other columns or of another dialect, which stay "
                                                 "as they are; the rows of this run are in " +
                                                 path_);
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

// 0 or errno.
int LineFile::open_as_it_is() {
  own_ = OwnFile(open_file(path_.c_str(), kFlags | O_CREAT, kMode));
  if (!own_.is_open()) return errno;
  file_ = own_.descriptor();
  return file_ < 0 ? errno : 0;
}

bool LineFile::open() {
  if (file_ = own_.descriptor(); file_ >= 0) return true;
  int error = open_as_it_is();
  if (error == ENOENT) {
    if (!has_folder()) return false;
    error = open_as_it_is();
  }
  if (error == EACCES && chmod(path_.c_str(), kMode) == 0) {
    error = open_as_it_is();  // an earlier run may have made it read-only
  }
  if (error != 0) {
    fault("open", error);
    return false;
  }
  struct stat now;
  name_synced_ = rows_seen_ = false;
  if (fstat(file_, &now) == 0 && S_ISREG(now.st_mode)) return true;
  fault("append to something that is not a regular file,", EINVAL);
  own_.close();
  return false;
}

// If the program has closed our descriptor: the same file by its name, so that it can be synced. False if another file
// has the name now.
bool LineFile::open_again() {
  OwnFile again(open_file(path_.c_str(), kFlags));
  const bool is_same = again.is_same_as(own_);
  if (!is_same) fault("find", again.is_open() ? ESTALE : errno);
  own_ = is_same ? std::move(again) : OwnFile();
  file_ = own_.descriptor();
  return is_same;
}

bool LineFile::has_folder() noexcept try {
  const auto unmade = make_folders(std::filesystem::path(path_).parent_path());
  if (unmade) fault("make the folder " + unmade->folder + " for", unmade->error);
  return !unmade;
} catch (const std::bad_alloc&) {
  return false;
}

// Removes an unterminated line that a killed writer left after the last LF.
bool LineFile::repair(off_t& size) {
  char bytes[4096];
  off_t end = size;
  while (end > 0) {
    const auto count = std::min<off_t>(end == size ? 1 : sizeof bytes, end);
    const ssize_t got = pread(file_, bytes, static_cast<std::size_t>(count), end - count);
    if (got != count) return fault("read the end of", got < 0 ? errno : EIO), false;
    const auto line_end = std::find(std::reverse_iterator(bytes + count), std::reverse_iterator(bytes), '\n');
    end -= line_end - std::reverse_iterator(bytes + count);
    if (line_end != std::reverse_iterator(bytes)) break;
  }
  if (end == size) return true;
  if (!cut_to(end)) return false;
  ++tally_.repairs;
  size = end;
  return true;
}

bool LineFile::cut_to(off_t size) {
  if (ftruncate(file_, size) == 0) return true;
  fault("take an unfinished line off", errno);
  return false;
}

bool LineFile::sync_row() noexcept {
  if (fdatasync(file_) == 0) return true;
  fault("sync", errno);
  return false;
}

// Syncs the folder and the folders above it, which may all be new. Otherwise the file may be missing after a power
// failure. Ignores folders without read permission, which cannot be synced, and file systems that cannot sync folders.
bool LineFile::sync_name() noexcept try {
  if (name_synced_) return true;
  int error = 0;
  auto folder = std::filesystem::path(path_).parent_path();
  for (bool is_root = false; !is_root && !folder.empty() && error == 0; folder = folder.parent_path()) {
    is_root = folder == folder.parent_path();
    const int file = open_file(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (file < 0 || fsync(file) != 0) error = errno;
    if (file >= 0) ::close(file);
    if (error == EACCES || error == EINVAL || error == EROFS) error = 0;
  }
  if (error != 0) fault("sync the folder of", error);
  return name_synced_ = error == 0;
} catch (const std::bad_alloc&) {
  return false;
}

std::size_t LineFile::write_whole(std::string_view text) {
  WithoutFileSizeSignal guard;
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = ::write(file_, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      const int error = count < 0 ? errno : ENOSPC;
      if (error == EFBIG) guard.take();
      fault("write to", error);
      break;
    }
    done += static_cast<std::size_t>(count);
  }
  return done;
}

void LineFile::fault(std::string_view doing, int error) noexcept {
  ++tally_.faults;
  char key[64];
  std::snprintf(key, sizeof key, "%.*s %d", static_cast<int>(doing.size()), doing.data(), error);
  notices_.warn_once(key, [&] {
    return "cannot " + std::string(doing) + " " + path_ + ": " + std::generic_category().message(error) +
           (error == EWOULDBLOCK ? " (another process holds its lock)" : "") +
           "; lines wait in memory until they can be written, at most " + std::to_string(options_.queue_bytes) +
           " bytes";
  });
}

}  // namespace tensorstat
