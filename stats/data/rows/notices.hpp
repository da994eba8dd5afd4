// Messages to a running job, each at most once.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <tensorstat/meter.hpp>
#include <type_traits>
#include <unordered_set>
#include <utility>

namespace tensorstat {

// Thread-safe; nothing here throws. The log is the caller's code: it is called without a lock, by one thread at a time,
// and may call back. Memory is bounded: at most kMostKeys different keys, and at most kMostQueued waiting messages.
class Notices {
 public:
  static constexpr std::size_t kMostKeys = 4096, kMostQueued = 256;

  explicit Notices(Log log) : log_(std::move(log)) {}

  // While it exists, messages of this thread wait. Make a Hold before taking a lock, so that messages are delivered
  // after the lock is released. `notices` must outlive it.
  class Hold {
   public:
    explicit Hold(Notices& notices) : notices_(notices) { ++holds_of_this_thread(); }
    ~Hold() {
      --holds_of_this_thread();
      notices_.deliver();
    }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    Notices& notices_;
  };

  // For the library's own threads: their messages are delivered by the next other thread that has a message or ends a
  // Hold.
  static void never_deliver_from_this_thread() { ++holds_of_this_thread(); }

  // Logs a message, unless there was one with this `key` before. `words` is a text, or a function that returns one. The
  // function is called only if needed, and if it runs out of memory, the caller does not see it.
  template <typename Words>
  void warn_once(std::string_view key, const Words& words) noexcept {
    say_once(Severity::kWarning, key, words);
    deliver();
  }
  template <typename Words>
  void inform_once(std::string_view key, const Words& words) noexcept {
    say_once(Severity::kInfo, key, words);
    deliver();
  }
  template <typename Words>
  void warn(const Words& words) noexcept {
    enqueue(Severity::kWarning, words);
    deliver();
  }

  // Queues the message without delivering it: for code that does not know whether its caller holds a lock.
  template <typename Words>
  void say_once(Severity severity, std::string_view key, const Words& words) noexcept {
    if (is_new(key)) enqueue(severity, words);
  }

  // Passes waiting messages to the log, unless this thread has a Hold or another thread is calling the log.
  void deliver() noexcept {
    if (!waiting_.load(std::memory_order_relaxed) || holds_of_this_thread() != 0) return;
    std::unique_lock lock(mutex_);
    while (!delivering_ && !queue_.empty()) {
      const Message message = std::move(queue_.front());
      queue_.pop_front();
      delivering_ = true;
      lock.unlock();
      try {
        log_(message.severity, message.text);
      } catch (...) {  // ignore errors of the caller's log
      }
      lock.lock();
      delivering_ = false;
    }
    waiting_.store(!queue_.empty(), std::memory_order_relaxed);
  }

 private:
  struct Message {
    Severity severity;
    std::string text;
  };

  static int& holds_of_this_thread() {
    thread_local int count = 0;
    return count;
  }

  bool is_new(std::string_view key) noexcept try {
    const std::lock_guard lock(mutex_);
    if (said_.size() == kMostKeys) return false;
    return said_.insert(std::hash<std::string_view>()(key)).second;
  } catch (...) {
    return false;
  }

  template <typename Words>
  void enqueue(Severity severity, const Words& words) noexcept try {
    if (!log_) return;
    Message message{severity, {}};
    if constexpr (std::is_invocable_v<const Words&>) {
      message.text = words();
    } else {
      message.text = words;
    }
    const std::lock_guard lock(mutex_);
    if (queue_.size() >= kMostQueued) return;
    queue_.push_back(std::move(message));
    if (queue_.size() == kMostQueued) queue_.back().text = "further messages are left out";
    waiting_.store(true, std::memory_order_relaxed);
  } catch (...) {  // the message is lost; the event itself is counted elsewhere
  }

  std::mutex mutex_;
  std::unordered_set<std::size_t> said_;  // hashes of keys
  std::deque<Message> queue_;
  bool delivering_ = false;
  std::atomic<bool> waiting_{false};
  const Log log_;
};

}  // namespace tensorstat
