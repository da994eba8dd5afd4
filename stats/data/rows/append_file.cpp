#include "stats/data/rows/append_file.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <new>
#include <utility>
#include <vector>

#include "stats/core/base/process_id.hpp"
#include "stats/data/rows/line_file.hpp"

namespace tensorstat {

// The file in one process. One thread at a time leads: it writes all waiting lines at once, while the other threads
// wait.
class AppendFile::Writer {
 public:
  Writer(const AppendOptions& options, Notices& notices, std::shared_ptr<LineTally> tally)
      : options_(options),
        notices_(notices),
        tally_(std::move(tally)),
        process_(process_id()),
        file_(options_, notices_, *tally_) {}

  bool is_mine() const { return process_ == process_id(); }
  const LineTally& tally() const { return *tally_; }

  Outcome append(std::string_view lines) noexcept {
    if (lines.empty()) return Outcome::kWritten;
    const Notices::Hold hold(notices_);
    std::unique_lock lock(mutex_);
    while (is_full(lines) && leading_) turn_over_.wait(lock);
    if (is_full(lines)) lead(lock);
    if (is_full(lines) || !enqueue(lines)) return drop(line_count(lines)), Outcome::kDropped;
    const std::uint64_t mine = first_waiting_ + waiting_.size() - 1;
    // If a thread leads now, it took the queue before this line was added, so the line is written in the turn after
    // that.
    const std::uint64_t last_turn = turn_ + (leading_ ? 2 : 1);
    while (first_waiting_ <= mine && turn_ < last_turn) take_part(lock);
    // If other files' lines fill the queue, these lines are tried once but not kept.
    while (first_waiting_ <= mine && leading_) turn_over_.wait(lock);
    if (first_waiting_ > mine) return mine < lost_before_ ? Outcome::kDropped : Outcome::kWritten;
    if (tally_->waiting_bytes <= options_.queue_bytes || tally_->waiting_bytes == lines.size())
      return Outcome::kWaiting;
    take_out(mine);
    drop(line_count(lines));
    return Outcome::kDropped;
  }

  bool flush() noexcept {
    const Notices::Hold hold(notices_);
    std::unique_lock lock(mutex_);
    return try_again(lock);
  }

  bool release() noexcept {
    const Notices::Hold hold(notices_);
    std::unique_lock lock(mutex_);
    const bool all = try_again(lock);
    close_file(all);
    return all;
  }

  void close() noexcept {
    const Notices::Hold hold(notices_);
    std::unique_lock lock(mutex_);
    if (!try_again(lock)) lose(waiting_.size(), Loss::kUnwritten);
    close_file(true);
  }

 private:
  static std::uint64_t line_count(std::string_view lines) {
    return static_cast<std::uint64_t>(std::count(lines.begin(), lines.end(), '\n'));
  }

  bool is_full(std::string_view lines) const {
    return !waiting_.empty() && tally_->waiting_bytes + lines.size() > options_.queue_bytes;
  }

  bool enqueue(std::string_view lines) noexcept try {
    waiting_.emplace_back(lines);
    tally_->waiting += line_count(lines);
    tally_->waiting_bytes += lines.size();
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }

  // Call it before `entry` is removed from the queue.
  void forget(const std::string& entry) {
    tally_->waiting -= line_count(entry);
    tally_->waiting_bytes -= entry.size();
  }

  void drop(std::uint64_t lines) {
    tally_->dropped += lines;
    notices_.warn_once("dropped", [&] {
      return options_.path + ": lines are dropped, because the queue of waiting lines is full (limit " +
             std::to_string(options_.queue_bytes) + " bytes)";
    });
  }

  // Empties an entry in the middle of the queue. It keeps its place, because serial numbers count places.
  void take_out(std::uint64_t serial) {
    std::string& entry = waiting_[serial - first_waiting_];
    forget(entry);
    entry.clear();
    while (!waiting_.empty() && waiting_.back().empty()) waiting_.pop_back();
  }

  // Removes the first `entries` of the queue and adds their lines to `as`.
  std::uint64_t finish(std::size_t entries, std::atomic<std::uint64_t>& as) {
    std::uint64_t lines = 0;
    for (std::size_t i = 0; i < entries; ++i) {
      lines += line_count(waiting_.front());
      forget(waiting_.front());
      waiting_.pop_front();
    }
    first_waiting_ += entries;
    as += lines;
    return lines;
  }

  enum class Loss { kUnwritten, kRefused, kUnsynced };

  void lose(std::size_t entries, Loss how) {
    const std::uint64_t lines = finish(entries, tally_->dropped);
    lost_before_ = first_waiting_;
    say_lost(lines, how);
  }

  // A full disk refuses the lines of all files that are open: the first is said, and all are counted.
  void say_lost(std::uint64_t lines, Loss how) {
    constexpr std::string_view kOne[] = {"could not be written and is lost",
                                         "was written, but the disk did not take it and it cannot be taken back",
                                         "may be lost: the disk did not take it"};
    constexpr std::string_view kMany[] = {"could not be written and are lost",
                                          "were written, but the disk did not take them and they cannot be taken back",
                                          "may be lost: the disk did not take them"};
    const auto which = static_cast<std::size_t>(how);
    notices_.warn_once(kMany[which], [&] {
      return options_.path + ": " + std::to_string(lines) + (lines == 1 ? " line " : " lines ") +
             std::string((lines == 1 ? kOne : kMany)[which]) + "; lines of other files may be, too";
    });
  }

  void take_part(std::unique_lock<std::mutex>& lock) { leading_ ? turn_over_.wait(lock) : lead(lock); }

  bool try_again(std::unique_lock<std::mutex>& lock) {
    while (leading_) turn_over_.wait(lock);
    if (!waiting_.empty()) lead(lock);
    while (leading_) turn_over_.wait(lock);
    return waiting_.empty();
  }

  void lead(std::unique_lock<std::mutex>& lock) {
    leading_ = true;
    const bool gathered = gather();
    lock.unlock();
    const auto done = gathered ? file_.append(batch_, ends_) : LineFile::Appended{};
    lock.lock();
    if (done.refused) {
      lose(done.entries, Loss::kRefused);
    } else {
      const std::uint64_t lines = finish(done.entries, tally_->written);
      if (options_.sync != Sync::kRow) unsynced_ += lines;
    }
    leading_ = false;
    ++turn_;
    turn_over_.notify_all();
  }

  bool gather() noexcept try {
    batch_.clear();
    ends_.clear();
    for (const std::string& lines : waiting_) {
      batch_ += lines;
      ends_.push_back(batch_.size());
    }
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }

  // Call it only while no thread leads.
  void close_file(bool is_finished) {
    if (!file_.close(is_finished) && unsynced_ != 0) {
      tally_->written -= unsynced_;
      tally_->dropped += unsynced_;
      say_lost(unsynced_, Loss::kUnsynced);
    }
    unsynced_ = 0;
  }

  const AppendOptions& options_;
  Notices& notices_;
  const std::shared_ptr<LineTally> tally_;
  const pid_t process_;

  std::mutex mutex_;
  std::condition_variable turn_over_;
  std::deque<std::string> waiting_;
  std::uint64_t first_waiting_ = 0;  // the serial number of waiting_.front()
  std::uint64_t lost_before_ = 0;    // some lines with a smaller serial number were lost
  std::uint64_t turn_ = 0;
  std::uint64_t unsynced_ = 0;  // lines written since the file was opened
  bool leading_ = false;

  // Used only by the leading thread.
  LineFile file_;
  std::string batch_;
  std::vector<std::size_t> ends_;
};

AppendFile::AppendFile(AppendOptions options, std::shared_ptr<Notices> notices)
    : options_(std::move(options)), notices_(std::move(notices)) {
  if (options_.tally == nullptr) options_.tally = std::make_shared<LineTally>();
  writer_ = new Writer(options_, *notices_, options_.tally);
}

AppendFile::~AppendFile() {
  close();
  delete writer_.load();
}

// A forked child never uses the parent's writer: another thread may have held its mutex during the fork, and its
// descriptor shares its lock with the parent's. The child makes its own writer. The parent's counters stay the
// parent's.
AppendFile::Writer* AppendFile::writer() const noexcept try {
  Writer* seen = writer_.load();
  if (seen->is_mine()) return seen;
  auto fresh = std::make_unique<Writer>(options_, *notices_, std::make_shared<LineTally>());
  if (writer_.compare_exchange_strong(seen, fresh.get())) seen = fresh.release();
  return seen;
} catch (const std::bad_alloc&) {
  return nullptr;
}

AppendFile::Outcome AppendFile::append(std::string_view lines) noexcept {
  Writer* const mine = writer();
  return mine == nullptr ? Outcome::kDropped : mine->append(lines);
}

bool AppendFile::flush() noexcept {
  Writer* const mine = writer();
  return mine == nullptr || mine->flush();
}

bool AppendFile::release() noexcept {
  Writer* const mine = writer();
  return mine == nullptr || mine->release();
}

void AppendFile::close() noexcept {
  if (Writer* const mine = writer()) mine->close();
}

AppendCounters AppendFile::counters() const noexcept {
  const Writer* const mine = writer();
  if (mine == nullptr) return {};
  const LineTally& tally = mine->tally();
  return {tally.written, tally.waiting, tally.dropped, tally.faults, tally.repairs};
}

}  // namespace tensorstat
