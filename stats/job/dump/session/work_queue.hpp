// Items of work that are done in the order of posting, normally by the queue's own thread.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "stats/core/base/float_environment.hpp"
#include "stats/core/base/process_id.hpp"
#include "stats/data/rows/notices.hpp"

namespace tensorstat {

// Thread-safe. The thread starts with the first item. If the system has no thread, and after close(), the thread that
// posts does the work. In a forked child nothing may be called but is_in_fork(), and the queue must not be destroyed.
template <typename Item>
class WorkQueue {
 public:
  using Items = std::list<Item>;  // splicing between lists needs no memory

  // Does the work on the items. It must outlive the queue.
  class Worker {
   public:
    // Called in the order of posting, by one thread at a time. It may keep items by splicing them away.
    virtual void work_on(Items& items) noexcept = 0;
    // Whether destroying the item runs the caller's code. The caller may hold locks that this code needs.
    virtual bool runs_callers_code(const Item& item) const noexcept = 0;

   protected:
    ~Worker() = default;
  };

  WorkQueue(Worker& worker, Notices& notices) : worker_(worker), notices_(notices) {}
  ~WorkQueue() { close(); }
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  bool is_in_fork() const { return process_ != process_id(); }

  void post(Item item) {
    Items one;
    one.push_back(std::move(item));
    post(std::move(one));
  }

  void post(Items items) noexcept { post_all(items); }

  // Takes all items. Without a thread, the work is done when this returns, and the caller must destroy the items:
  // destroying them under a lock would run the caller's code there.
  void post_all(Items& items) noexcept {
    if (items.empty()) return;
    Items spent;
    {
      const std::lock_guard lock(mutex_);
      if (has_thread()) {
        for (std::size_t i = 0; i <= items.size() && !spent_.empty(); ++i) {
          spent.splice(spent.end(), spent_, spent_.begin());
        }
        posted_ += items.size();
        queue_.splice(queue_.end(), items);
        if (asleep_) came_.notify_one();
        return;
      }
    }
    work_now(items);
  }

  // Does the work on this thread. To keep the order, call drain() before.
  void work_now(Items& items) noexcept {
    const std::lock_guard lock(work_mutex_);
    worker_.work_on(items);
  }

  // Calls `what` while no thread works.
  template <typename What>
  void between_work(const What& what) {
    const std::lock_guard lock(work_mutex_);
    what();
  }

  // How many items are posted and not done.
  std::uint64_t unfinished() noexcept {
    const std::lock_guard lock(mutex_);
    return posted_ - finished_;
  }

  // Returns when everything posted so far is done. If allowed, this thread does the work itself: waking another thread
  // and waiting for it takes longer than writing a few rows.
  void drain() noexcept {
    std::unique_lock lock(mutex_);
    const std::uint64_t mine = posted_;
    const bool is_thread = is_own_thread();  // called from the destructor of an item
    while (finished_ < mine) {
      if (is_at_work_) {
        done_.wait(lock, [&] { return !is_at_work_; });
      } else if (is_thread || is_for_anyone()) {
        take_turn(lock);
      } else {
        hurry_ = true;
        came_.notify_one();
        done_.wait(lock, [&] { return finished_ >= mine; });
      }
    }
  }

  // Returns when everything is done and the thread has ended. If the queue's own thread calls it, the thread ends
  // later.
  void close() noexcept {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      came_.notify_one();
    }
    if (is_own_thread()) {
      drain();
    } else if (thread_.joinable()) {
      thread_.join();
    }
  }

 private:
  // To wake a sleeping thread costs the posting thread microseconds. So the queue's thread polls every kGlance. After
  // kPatience polls without work it sleeps until it is woken.
  static constexpr auto kGlance = std::chrono::milliseconds(2);
  static constexpr int kPatience = 50;
  static constexpr std::size_t kMostInATurn = 64;
  static constexpr std::size_t kMostSpent = 256;

  bool is_own_thread() const { return thread_.get_id() == std::this_thread::get_id(); }

  // The thread blocks all signals, so that the program's handlers do not run on it.
  bool has_thread() noexcept {
    if (stopping_ || thread_refused_) return false;
    if (thread_.joinable()) return true;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      thread_ = std::thread([this] {
        const FloatEnvironment ieee;  // a thread begins in the mode of the one that starts it
        run_thread();
      });
    } catch (const std::exception& fault) {
      thread_refused_ = true;
      notices_.warn_once(
          "thread", [&] { return "no thread for dumping, so training does the work: " + std::string(fault.what()); });
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return !thread_refused_;
  }

  void run_thread() noexcept {
    Notices::never_deliver_from_this_thread();
    std::unique_lock lock(mutex_);
    int glances = 0;
    while (!queue_.empty() || !stopping_) {
      if (is_at_work_) {
        done_.wait(lock, [&] { return !is_at_work_; });
        continue;
      }
      if (queue_.empty()) {
        asleep_ = ++glances > kPatience;
        const auto something = [&] { return hurry_ || stopping_ || (asleep_ && !queue_.empty()); };
        asleep_ ? came_.wait(lock, something) : static_cast<void>(came_.wait_for(lock, kGlance, something));
        asleep_ = false;
        hurry_ = false;
        continue;
      }
      glances = 0;
      take_turn(lock);
    }
  }

  // Works on the first items of the queue, with the lock released. The items are destroyed after they count as
  // finished: their destructors may run the caller's code, which may wait for a thread that waits in drain(). Items
  // without such code go back to the threads that post: memory that one thread takes and another frees makes both wait
  // for malloc's lock.
  void take_turn(std::unique_lock<std::mutex>& lock) noexcept {
    Items items;
    const std::size_t count = std::min(queue_.size(), kMostInATurn);
    items.splice(items.end(), queue_, queue_.begin(), std::next(queue_.begin(), static_cast<std::ptrdiff_t>(count)));
    is_at_work_ = true;
    const bool is_thread = is_own_thread();
    lock.unlock();
    work_now(items);
    Items spent;
    for (auto next = items.begin(); is_thread && next != items.end();) {
      const auto item = next++;
      if (!worker_.runs_callers_code(*item)) spent.splice(spent.end(), items, item);
    }
    lock.lock();
    finished_ += count;
    is_at_work_ = false;
    if (spent_.size() < kMostSpent) spent_.splice(spent_.end(), spent);
    done_.notify_all();
    lock.unlock();
    items.clear();
    spent.clear();
    lock.lock();
  }

  bool is_for_anyone() const noexcept {
    return std::ranges::none_of(queue_, [&](const Item& item) { return worker_.runs_callers_code(item); });
  }

  Worker& worker_;
  Notices& notices_;
  const pid_t process_ = process_id();
  std::mutex work_mutex_;  // held by the thread that works
  std::mutex mutex_;
  std::condition_variable came_, done_;
  Items queue_;
  Items spent_;  // done; the threads that post destroy these, one more than they post
  std::uint64_t posted_ = 0, finished_ = 0;
  bool stopping_ = false, asleep_ = false, hurry_ = false, thread_refused_ = false;
  bool is_at_work_ = false;  // a thread is working on items from the queue; the next items must not overtake them
  std::thread thread_;
};

}  // namespace tensorstat
