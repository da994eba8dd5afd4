#include "stats/rows/append_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "stats/files/file_size_signal.hpp"
#include "stats/files/folders.hpp"
#include "stats/files/shown.hpp"

namespace tensorstat {
namespace {

class FileLock {
 public:
  // Polls, because flock() has no deadline and a stopped holder would block for ever.
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

// The file as one process sees it. One thread at a time leads: it takes every line that waits and
// writes them in one go, while the others wait for their own.
class AppendFile::Writer {
 public:
  Writer(const AppendOptions& options, Notices& notices)
      : options_(options), notices_(notices), process_(getpid()) {}
  ~Writer() {
    if (file_ >= 0) ::close(file_);
  }

  bool is_mine() const { return process_ == getpid(); }

  Outcome append(std::string_view line) {
    std::unique_lock lock(mutex_);
    while (is_full(line) && leading_) turn_over_.wait(lock);
    if (is_full(line)) lead(lock);
    if (is_full(line) || !enqueue(line)) {
      counters_.dropped_count += line_count(line);
      notices_.warn_once("dropped " + options_.path,
                         options_.path + ": lines are dropped, because " +
                             std::to_string(waiting_bytes_) + " bytes of them wait already");
      return Outcome::kDropped;
    }
    const std::uint64_t mine = first_waiting_ + waiting_.size() - 1;
    // Somebody who leads now took the queue before this line came: the turn after that is its own.
    const std::uint64_t last_turn = turn_ + (leading_ ? 2 : 1);
    while (first_waiting_ <= mine && turn_ < last_turn) {
      if (leading_) {
        turn_over_.wait(lock);
      } else {
        lead(lock);
      }
    }
    return first_waiting_ > mine ? Outcome::kWritten : Outcome::kWaiting;
  }

  bool flush() {
    std::unique_lock lock(mutex_);
    turn_over_.wait(lock, [&] { return !leading_; });
    if (!waiting_.empty()) lead(lock);
    return waiting_.empty();
  }

  void close() {
    flush();
    std::unique_lock lock(mutex_);
    turn_over_.wait(lock, [&] { return !leading_; });
    if (!waiting_.empty()) {
      const std::uint64_t lost = waiting_count(waiting_.size());
      notices_.warn(options_.path + ": " + std::to_string(lost) +
                    " lines could not be written and are lost");
      counters_.dropped_count += lost;
      first_waiting_ += waiting_.size();
      waiting_.clear();
      waiting_bytes_ = 0;
    }
    if (file_ < 0) return;
    if (options_.sync != Sync::kNever && fsync(file_) != 0) fault("sync", errno);
    if (options_.read_only_when_closed && fchmod(file_, S_IRUSR) != 0)
      fault("make read-only", errno);
    if (::close(file_) != 0) fault("close", errno);
    file_ = -1;
  }

  AppendCounters counters() const {
    const std::lock_guard lock(mutex_);
    AppendCounters now = counters_;
    now.waiting_count = waiting_count(waiting_.size());
    now.fault_count = fault_count_;
    now.repair_count = repair_count_;
    return now;
  }

 private:
  static std::uint64_t line_count(std::string_view lines) {
    return static_cast<std::uint64_t>(std::count(lines.begin(), lines.end(), '\n'));
  }

  // Lines in the first `entries` of the queue.
  std::uint64_t waiting_count(std::size_t entries) const {
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < entries; ++i) count += line_count(waiting_[i]);
    return count;
  }

  bool is_full(std::string_view line) const {
    return !waiting_.empty() && waiting_bytes_ + line.size() > options_.queue_bytes;
  }

  bool enqueue(std::string_view line) try {
    waiting_.emplace_back(line);
    waiting_bytes_ += line.size();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }

  void lead(std::unique_lock<std::mutex>& lock) {
    leading_ = true;
    const bool gathered = gather();
    lock.unlock();
    const std::size_t done = gathered ? write_batch() : 0;
    lock.lock();
    counters_.written_count += waiting_count(done);
    waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(done));
    waiting_bytes_ -= done == 0 ? 0 : ends_[done - 1];
    first_waiting_ += done;
    leading_ = false;
    ++turn_;
    turn_over_.notify_all();
  }

  bool gather() try {
    batch_.clear();
    ends_.clear();
    for (const std::string& line : waiting_) {
      batch_ += line;
      ends_.push_back(batch_.size());
    }
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }

  // How many entries of the queue the file has now.
  std::size_t write_batch() {
    while (open_file()) {
      {
        const FileLock lock(file_, options_.lock_deadline * (stalled_ ? 0 : 1));
        stalled_ = lock.error() == EWOULDBLOCK;
        // Where the file system knows no locks, the mutex still keeps this process's lines whole.
        if (lock.error() != 0) fault("lock", lock.error());
        if (stalled_) return 0;
        if (!was_removed()) return write_locked();
      }
      ::close(std::exchange(file_, -1));
    }
    return 0;
  }

  // What is written to a file without a name would never be found.
  bool was_removed() const {
    struct stat now;
    return fstat(file_, &now) == 0 && now.st_nlink == 0;
  }

  std::size_t write_locked() {
    struct stat now;
    if (fstat(file_, &now) != 0) return fault("look at", errno), 0;
    off_t size = now.st_size;
    if (!repair(size)) return 0;
    if (!std::exchange(heading_seen_, true)) compare_heading(size);
    if (size == 0 && !options_.header.empty()) {
      if (write_whole(options_.header) != options_.header.size()) {
        cut_to(0);
        return 0;
      }
      size = static_cast<off_t>(options_.header.size());
    }
    const std::size_t written = write_whole(batch_);
    const auto whole = std::upper_bound(ends_.begin(), ends_.end(), written) - ends_.begin();
    if (written != batch_.size())
      cut_to(size + static_cast<off_t>(whole == 0 ? 0 : ends_[whole - 1]));
    if (options_.sync == Sync::kRow && fdatasync(file_) != 0) fault("sync", errno);
    return static_cast<std::size_t>(whole);
  }

  // What an earlier run left is continued, as MindSpore does it; but whoever reads it should know.
  void compare_heading(off_t size) noexcept try {
    if (size == 0 || options_.header.empty()) return;
    const std::size_t most = std::max(options_.header.size(), std::size_t{256});
    std::string found(std::min(most, static_cast<std::size_t>(size)), '\0');
    if (pread(file_, found.data(), found.size(), 0) != static_cast<ssize_t>(found.size())) return;
    if (options_.header.starts_with(found.substr(0, options_.header.size()))) return;
    const std::string_view wanted(options_.header.data(), options_.header.size() - 1);
    notices_.warn_once("heading of " + options_.path,
                       options_.path + " is there already, and its first line is " + shown(found.substr(0, found.find('\n')), 200) +
                           "; the rows that follow it now have the columns " + shown(wanted, 200));
  } catch (const std::bad_alloc&) {
  }

  bool open_file() {
    if (file_ >= 0) return true;
    constexpr int kFlags = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
    constexpr mode_t kMode = S_IRUSR | S_IWUSR;
    file_ = ::open(options_.path.c_str(), kFlags, kMode);
    if (file_ < 0 && errno == ENOENT) {
      if (!has_folder()) return false;
      file_ = ::open(options_.path.c_str(), kFlags, kMode);
    }
    if (file_ < 0 && errno == EACCES && chmod(options_.path.c_str(), kMode) == 0) {
      file_ = ::open(options_.path.c_str(), kFlags, kMode);  // an earlier run made it read-only
    }
    if (file_ < 0) {
      fault("open", errno);
      return false;
    }
    struct stat now;
    if (fstat(file_, &now) == 0 && S_ISREG(now.st_mode)) return true;
    fault("append to something that is not a regular file,", EINVAL);
    ::close(file_);
    file_ = -1;
    return false;
  }

  bool has_folder() try {
    const auto unmade = make_folders(std::filesystem::path(options_.path).parent_path());
    if (unmade) fault("make the folder " + unmade->folder + " for", unmade->error);
    return !unmade;
  } catch (const std::bad_alloc&) {
    return false;
  }

  // Removes what a killed writer left behind its last LF.
  bool repair(off_t& size) {
    char bytes[4096];
    off_t end = size;
    while (end > 0) {
      const auto count = std::min<off_t>(end == size ? 1 : sizeof bytes, end);
      const ssize_t got = pread(file_, bytes, static_cast<std::size_t>(count), end - count);
      if (got != count) return fault("read the end of", got < 0 ? errno : EIO), false;
      const auto line_end =
          std::find(std::reverse_iterator(bytes + count), std::reverse_iterator(bytes), '\n');
      end -= line_end - std::reverse_iterator(bytes + count);
      if (line_end != std::reverse_iterator(bytes)) break;
    }
    if (end == size) return true;
    if (!cut_to(end)) return false;
    ++repair_count_;
    size = end;
    return true;
  }

  bool cut_to(off_t size) {
    if (ftruncate(file_, size) == 0) return true;
    fault("take an unfinished line off", errno);
    return false;
  }

  std::size_t write_whole(std::string_view text) {
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

  void fault(std::string_view doing, int error) noexcept try {
    ++fault_count_;
    notices_.warn_once(std::string(doing) + std::to_string(error),
                       "cannot " + std::string(doing) + " " + options_.path + ": " +
                           std::generic_category().message(error) +
                           (error == EWOULDBLOCK ? " (another process holds its lock)" : "") +
                           "; what cannot be written waits in memory, at most " +
                           std::to_string(options_.queue_bytes) + " bytes");
  } catch (const std::bad_alloc&) {  // counted is enough
  }

  const AppendOptions& options_;
  Notices& notices_;
  const pid_t process_;

  mutable std::mutex mutex_;
  std::condition_variable turn_over_;
  std::deque<std::string> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::uint64_t first_waiting_ = 0;  // the serial number of waiting_.front()
  std::uint64_t turn_ = 0;
  bool leading_ = false;
  AppendCounters counters_;
  std::atomic<std::uint64_t> fault_count_{0}, repair_count_{0};

  // Of the thread that leads.
  int file_ = -1;
  bool stalled_ = false, heading_seen_ = false;
  std::string batch_;
  std::vector<std::size_t> ends_;
};

AppendFile::AppendFile(AppendOptions options, std::shared_ptr<Notices> notices)
    : options_(std::move(options)),
      notices_(std::move(notices)),
      writer_(new Writer(options_, *notices_)) {}

AppendFile::~AppendFile() {
  close();
  delete writer_.load();
}

// A fork may have happened while another thread held the parent's mutex, so a child never touches
// the parent's writer: it is left as it is, and so is its descriptor, whose lock is shared with the
// parent's.
AppendFile::Writer& AppendFile::writer() const {
  Writer* seen = writer_.load();
  if (seen->is_mine()) return *seen;
  auto fresh = std::make_unique<Writer>(options_, *notices_);
  if (writer_.compare_exchange_strong(seen, fresh.get())) seen = fresh.release();
  return *seen;
}

AppendFile::Outcome AppendFile::append(std::string_view line) { return writer().append(line); }
bool AppendFile::flush() { return writer().flush(); }
void AppendFile::close() { writer().close(); }
AppendCounters AppendFile::counters() const { return writer().counters(); }

}  // namespace tensorstat
